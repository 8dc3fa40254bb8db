"""Field tables of the workload kinds, Scale and CustomResourceDefinition (notation: `schemas`)."""

TYPES = """
Deployment: DeploymentSpec spec; DeploymentStatus status
DeploymentSpec:
  int minReadySeconds progressDeadlineSeconds replicas revisionHistoryLimit
  bool paused
  LabelSelector! selector
  DeploymentStrategy<retainKeys> strategy
  PodTemplateSpec template
DeploymentStrategy: RollingUpdateDeployment rollingUpdate; string type
RollingUpdateDeployment: intstr maxSurge maxUnavailable
DeploymentStatus:
  int availableReplicas collisionCount observedGeneration readyReplicas replicas terminatingReplicas
    unavailableReplicas updatedReplicas
  [DeploymentCondition]keys(type)<merge:type> conditions
DeploymentCondition: string lastTransitionTime lastUpdateTime message reason status type
ReplicaSet: ReplicaSetSpec spec; ReplicaSetStatus status
ReplicaSetSpec: int minReadySeconds replicas; LabelSelector! selector; PodTemplateSpec template
ReplicaSetStatus:
  int availableReplicas fullyLabeledReplicas observedGeneration readyReplicas replicas terminatingReplicas
  [ReplicaSetCondition]keys(type)<merge:type> conditions
ReplicaSetCondition: string lastTransitionTime message reason status type
StatefulSet: StatefulSetSpec spec; StatefulSetStatus status
StatefulSetSpec:
  int minReadySeconds replicas revisionHistoryLimit
  StatefulSetOrdinals ordinals
  StatefulSetPersistentVolumeClaimRetentionPolicy persistentVolumeClaimRetentionPolicy
  string podManagementPolicy serviceName
  LabelSelector! selector
  PodTemplateSpec template
  StatefulSetUpdateStrategy updateStrategy
  [PersistentVolumeClaim] volumeClaimTemplates
StatefulSetOrdinals: int start
StatefulSetPersistentVolumeClaimRetentionPolicy: string whenDeleted whenScaled
StatefulSetUpdateStrategy: RollingUpdateStatefulSetStrategy rollingUpdate; string type
RollingUpdateStatefulSetStrategy: intstr maxUnavailable; int partition
StatefulSetStatus:
  int availableReplicas collisionCount currentReplicas observedGeneration readyReplicas replicas
    updatedReplicas
  [StatefulSetCondition]keys(type)<merge:type> conditions
  string currentRevision updateRevision
StatefulSetCondition: string lastTransitionTime message reason status type
CustomResourceDefinition: CustomResourceDefinitionSpec spec; CustomResourceDefinitionStatus status
CustomResourceDefinitionSpec:
  CustomResourceConversion conversion
  string group scope
  CustomResourceDefinitionNames names
  bool preserveUnknownFields
  [CustomResourceDefinitionVersion] versions
CustomResourceConversion: string strategy; WebhookConversion webhook
WebhookConversion: WebhookClientConfig clientConfig; [string] conversionReviewVersions
WebhookClientConfig: string caBundle url; ServiceReference service
ServiceReference: string name namespace path; int port
CustomResourceDefinitionNames: [string] categories shortNames; string kind listKind plural singular
CustomResourceDefinitionVersion:
  [CustomResourceColumnDefinition] additionalPrinterColumns
  bool deprecated served storage
  string deprecationWarning name
  CustomResourceValidation schema
  [SelectableField] selectableFields
  CustomResourceSubresources subresources
CustomResourceColumnDefinition: string description format jsonPath name type; int priority
CustomResourceValidation: JSONSchemaProps openAPIV3Schema
JSONSchemaProps:
  string $ref $schema description format id pattern title type x-kubernetes-list-type
    x-kubernetes-map-type
  any additionalItems additionalProperties default example items
  [JSONSchemaProps] allOf anyOf oneOf
  {JSONSchemaProps} definitions patternProperties properties
  {any} dependencies
  [any] enum
  bool exclusiveMaximum exclusiveMinimum nullable uniqueItems x-kubernetes-embedded-resource
    x-kubernetes-int-or-string x-kubernetes-preserve-unknown-fields
  ExternalDocumentation externalDocs
  int maxItems maxLength maxProperties minItems minLength minProperties
  number maximum minimum multipleOf
  JSONSchemaProps not
  [string] required x-kubernetes-list-map-keys
  [ValidationRule]keys(rule)<merge:rule> x-kubernetes-validations
ExternalDocumentation: string description url
ValidationRule: string fieldPath message messageExpression reason rule; bool optionalOldSelf
SelectableField: string jsonPath
CustomResourceSubresources: CustomResourceSubresourceScale scale; any status
CustomResourceSubresourceScale: string labelSelectorPath specReplicasPath statusReplicasPath
CustomResourceDefinitionStatus:
  CustomResourceDefinitionNames acceptedNames
  [CustomResourceDefinitionCondition]keys(type) conditions
  [string] storedVersions
CustomResourceDefinitionCondition: string lastTransitionTime message reason status type
Scale: ScaleSpec spec; ScaleStatus status
ScaleSpec: int replicas
ScaleStatus: int replicas; string selector
"""
