"""Field tables of the workload kinds, Scale and CustomResourceDefinition (notation: `schemas`)."""

TYPES = """
Deployment: DeploymentSpec+ spec; DeploymentStatus+ status
DeploymentSpec:
  int minReadySeconds
  int? progressDeadlineSeconds replicas revisionHistoryLimit
  bool paused
  LabelSelector! selector
  DeploymentStrategy+<retainKeys> strategy
  PodTemplateSpec+ template
DeploymentStrategy: RollingUpdateDeployment rollingUpdate; string type
RollingUpdateDeployment: intstr? maxSurge maxUnavailable
DeploymentStatus:
  int availableReplicas observedGeneration readyReplicas replicas unavailableReplicas updatedReplicas
  int? collisionCount terminatingReplicas
  [DeploymentCondition]keys(type)<merge:type> conditions
DeploymentCondition: time+ lastTransitionTime lastUpdateTime; string message reason; string+ status type
ReplicaSet: ReplicaSetSpec+ spec; ReplicaSetStatus+ status
ReplicaSetSpec: int minReadySeconds; int? replicas; LabelSelector! selector; PodTemplateSpec+ template
ReplicaSetStatus:
  int availableReplicas fullyLabeledReplicas observedGeneration readyReplicas
  int+ replicas
  int? terminatingReplicas
  [ReplicaSetCondition]keys(type)<merge:type> conditions
ReplicaSetCondition: time+ lastTransitionTime; string message reason; string+ status type
StatefulSet: StatefulSetSpec+ spec; StatefulSetStatus+ status
StatefulSetSpec:
  int minReadySeconds
  int? replicas revisionHistoryLimit
  StatefulSetOrdinals ordinals
  StatefulSetPersistentVolumeClaimRetentionPolicy persistentVolumeClaimRetentionPolicy
  string podManagementPolicy
  string+ serviceName
  LabelSelector! selector
  PodTemplateSpec+ template
  StatefulSetUpdateStrategy+ updateStrategy
  [PersistentVolumeClaim] volumeClaimTemplates
StatefulSetOrdinals: int+ start
StatefulSetPersistentVolumeClaimRetentionPolicy: string whenDeleted whenScaled
StatefulSetUpdateStrategy: RollingUpdateStatefulSetStrategy rollingUpdate; string type
RollingUpdateStatefulSetStrategy: intstr? maxUnavailable; int? partition
StatefulSetStatus:
  int+ availableReplicas replicas
  int? collisionCount
  int currentReplicas observedGeneration readyReplicas updatedReplicas
  [StatefulSetCondition]keys(type)<merge:type> conditions
  string currentRevision updateRevision
StatefulSetCondition: time+ lastTransitionTime; string message reason; string+ status type
CustomResourceDefinition: CustomResourceDefinitionSpec+ spec; CustomResourceDefinitionStatus+ status
CustomResourceDefinitionSpec:
  CustomResourceConversion conversion
  string+ group scope
  CustomResourceDefinitionNames+ names
  bool preserveUnknownFields
  [CustomResourceDefinitionVersion]+ versions
CustomResourceConversion: string+ strategy; WebhookConversion webhook
WebhookConversion: WebhookClientConfig clientConfig; [string]+ conversionReviewVersions
WebhookClientConfig: string caBundle; string? url; ServiceReference service
ServiceReference: string+ name namespace; string? path; int? port
CustomResourceDefinitionNames: [string] categories shortNames; string+ kind plural; string listKind singular
CustomResourceDefinitionVersion:
  [CustomResourceColumnDefinition] additionalPrinterColumns
  bool deprecated
  bool+ served storage
  string? deprecationWarning
  string+ name
  CustomResourceValidation schema
  [SelectableField] selectableFields
  CustomResourceSubresources subresources
CustomResourceColumnDefinition: string description format; string+ jsonPath name type; int priority
CustomResourceValidation: JSONSchemaProps openAPIV3Schema
JSONSchemaProps:
  string? $ref x-kubernetes-list-type x-kubernetes-map-type
  string $schema description format id pattern title type
  any additionalItems additionalProperties default example items
  [JSONSchemaProps] allOf anyOf oneOf
  {JSONSchemaProps} definitions patternProperties properties
  {any} dependencies
  [any] enum
  bool exclusiveMaximum exclusiveMinimum nullable uniqueItems x-kubernetes-embedded-resource
    x-kubernetes-int-or-string
  bool? x-kubernetes-preserve-unknown-fields
  ExternalDocumentation externalDocs
  int? maxItems maxLength maxProperties minItems minLength minProperties
  number? maximum minimum multipleOf
  JSONSchemaProps not
  [string] required x-kubernetes-list-map-keys
  [ValidationRule]keys(rule)<merge:rule> x-kubernetes-validations
ExternalDocumentation: string description url
ValidationRule:
  string fieldPath message messageExpression
  string? reason
  string+ rule
  bool? optionalOldSelf
SelectableField: string+ jsonPath
CustomResourceSubresources: CustomResourceSubresourceScale scale; any status
CustomResourceSubresourceScale: string? labelSelectorPath; string+ specReplicasPath statusReplicasPath
CustomResourceDefinitionStatus:
  CustomResourceDefinitionNames+ acceptedNames
  [CustomResourceDefinitionCondition]keys(type)+ conditions
  [string]+ storedVersions
CustomResourceDefinitionCondition: time+ lastTransitionTime; string message reason; string+ status type
Scale: ScaleSpec+ spec; ScaleStatus+ status
ScaleSpec: int replicas
ScaleStatus: int+ replicas; string selector
"""
