"""Field tables of the Pod and of all that a Pod template may say, volumes apart (notation: `schemas`)."""

TYPES = """
Pod: PodSpec+ spec; PodStatus+ status
PodSpec:
  int? activeDeadlineSeconds priority terminationGracePeriodSeconds
  Affinity affinity
  bool? automountServiceAccountToken enableServiceLinks hostUsers setHostnameAsFQDN shareProcessNamespace
  bool hostIPC hostNetwork hostPID
  [Container]keys(name)+<merge:name> containers
  [Container]keys(name)<merge:name> initContainers
  PodDNSConfig dnsConfig
  string dnsPolicy hostname nodeName priorityClassName restartPolicy schedulerName serviceAccount
    serviceAccountName subdomain
  string? hostnameOverride preemptionPolicy runtimeClassName
  [EphemeralContainer]keys(name)<merge:name> ephemeralContainers
  [HostAlias]keys(ip)<merge:ip> hostAliases
  [LocalObjectReference!]keys(name)<merge:name> imagePullSecrets
  {string}! nodeSelector
  PodOS os
  {quantity} overhead
  [PodReadinessGate] readinessGates
  [PodResourceClaim]keys(name)<merge,retainKeys:name> resourceClaims
  ResourceRequirements resources
  [PodSchedulingGate]keys(name)<merge:name> schedulingGates
  PodSecurityContext securityContext
  [Toleration] tolerations
  [TopologySpreadConstraint]keys(topologyKey,whenUnsatisfiable)<merge:topologyKey>
    topologySpreadConstraints
  [Volume]keys(name)<merge,retainKeys:name> volumes
Affinity: NodeAffinity nodeAffinity; PodAffinity podAffinity; PodAntiAffinity podAntiAffinity
NodeAffinity:
  [PreferredSchedulingTerm] preferredDuringSchedulingIgnoredDuringExecution
  NodeSelector! requiredDuringSchedulingIgnoredDuringExecution
PreferredSchedulingTerm: NodeSelectorTerm!+ preference; int+ weight
NodeSelectorTerm: [NodeSelectorRequirement] matchExpressions matchFields
NodeSelectorRequirement: string+ key operator; [string] values
NodeSelector: [NodeSelectorTerm!]+ nodeSelectorTerms
PodAffinity:
  [WeightedPodAffinityTerm] preferredDuringSchedulingIgnoredDuringExecution
  [PodAffinityTerm] requiredDuringSchedulingIgnoredDuringExecution
WeightedPodAffinityTerm: PodAffinityTerm+ podAffinityTerm; int+ weight
PodAffinityTerm:
  LabelSelector! labelSelector namespaceSelector
  [string] matchLabelKeys mismatchLabelKeys namespaces
  string+ topologyKey
LabelSelector: [LabelSelectorRequirement] matchExpressions; {string} matchLabels
LabelSelectorRequirement: string+ key operator; [string] values
PodAntiAffinity:
  [WeightedPodAffinityTerm] preferredDuringSchedulingIgnoredDuringExecution
  [PodAffinityTerm] requiredDuringSchedulingIgnoredDuringExecution
Container:
  [string] args command
  [EnvVar]keys(name)<merge:name> env
  [EnvFromSource] envFrom
  string image imagePullPolicy terminationMessagePath terminationMessagePolicy workingDir
  string+ name
  string? restartPolicy
  Lifecycle lifecycle
  Probe livenessProbe readinessProbe startupProbe
  [ContainerPort]keys(containerPort,protocol=TCP)<merge:containerPort> ports
  [ContainerResizePolicy] resizePolicy
  ResourceRequirements+ resources
  [ContainerRestartRule] restartPolicyRules
  SecurityContext securityContext
  bool stdin stdinOnce tty
  [VolumeDevice]keys(devicePath)<merge:devicePath> volumeDevices
  [VolumeMount]keys(mountPath)<merge:mountPath> volumeMounts
EnvVar: string+ name; string value; EnvVarSource valueFrom
EnvVarSource:
  ConfigMapKeySelector! configMapKeyRef
  ObjectFieldSelector! fieldRef
  FileKeySelector! fileKeyRef
  ResourceFieldSelector! resourceFieldRef
  SecretKeySelector! secretKeyRef
ConfigMapKeySelector: string+ key; string name; bool? optional
ObjectFieldSelector: string apiVersion; string+ fieldPath
FileKeySelector: string+ key path volumeName; bool? optional
ResourceFieldSelector: string containerName; string+ resource; quantity+ divisor
SecretKeySelector: string+ key; string name; bool? optional
EnvFromSource: ConfigMapEnvSource configMapRef; string prefix; SecretEnvSource secretRef
ConfigMapEnvSource: string name; bool? optional
SecretEnvSource: string name; bool? optional
Lifecycle: LifecycleHandler postStart preStop; string? stopSignal
LifecycleHandler: ExecAction exec; HTTPGetAction httpGet; SleepAction sleep; TCPSocketAction tcpSocket
ExecAction: [string] command
HTTPGetAction: string host path scheme; [HTTPHeader] httpHeaders; intstr+ port
HTTPHeader: string+ name value
SleepAction: int+ seconds
TCPSocketAction: string host; intstr+ port
Probe:
  ExecAction exec
  int failureThreshold initialDelaySeconds periodSeconds successThreshold timeoutSeconds
  int? terminationGracePeriodSeconds
  GRPCAction grpc
  HTTPGetAction httpGet
  TCPSocketAction tcpSocket
GRPCAction: int+ port; string? service
ContainerPort: int+ containerPort; int hostPort; string hostIP name protocol
ContainerResizePolicy: string+ resourceName restartPolicy
ResourceRequirements: [ResourceClaim]keys(name) claims; {quantity} limits requests
ResourceClaim: string+ name; string request
ContainerRestartRule: string action; ContainerRestartRuleOnExitCodes exitCodes
ContainerRestartRuleOnExitCodes: string operator; [int]set values
SecurityContext:
  bool? allowPrivilegeEscalation privileged readOnlyRootFilesystem runAsNonRoot
  AppArmorProfile appArmorProfile
  Capabilities capabilities
  string? procMount
  int? runAsGroup runAsUser
  SELinuxOptions seLinuxOptions
  SeccompProfile seccompProfile
  WindowsSecurityContextOptions windowsOptions
AppArmorProfile: string? localhostProfile; string+ type
Capabilities: [string] add drop
SELinuxOptions: string level role type user
SeccompProfile: string? localhostProfile; string+ type
WindowsSecurityContextOptions:
  string? gmsaCredentialSpec gmsaCredentialSpecName runAsUserName
  bool? hostProcess
VolumeDevice: string+ devicePath name
VolumeMount:
  string+ mountPath name
  string? mountPropagation recursiveReadOnly
  string subPath subPathExpr
  bool readOnly
PodDNSConfig: [string] nameservers searches; [PodDNSConfigOption] options
PodDNSConfigOption: string name; string? value
EphemeralContainer:
  [string] args command
  [EnvVar]keys(name)<merge:name> env
  [EnvFromSource] envFrom
  string image imagePullPolicy targetContainerName terminationMessagePath terminationMessagePolicy
    workingDir
  string+ name
  string? restartPolicy
  Lifecycle lifecycle
  Probe livenessProbe readinessProbe startupProbe
  [ContainerPort]keys(containerPort,protocol=TCP)<merge:containerPort> ports
  [ContainerResizePolicy] resizePolicy
  ResourceRequirements+ resources
  [ContainerRestartRule] restartPolicyRules
  SecurityContext securityContext
  bool stdin stdinOnce tty
  [VolumeDevice]keys(devicePath)<merge:devicePath> volumeDevices
  [VolumeMount]keys(mountPath)<merge:mountPath> volumeMounts
HostAlias: [string] hostnames; string+ ip
LocalObjectReference: string name
PodOS: string+ name
PodReadinessGate: string+ conditionType
PodResourceClaim: string+ name; string? resourceClaimName resourceClaimTemplateName
PodSchedulingGate: string+ name
PodSecurityContext:
  AppArmorProfile appArmorProfile
  int? fsGroup runAsGroup runAsUser
  string? fsGroupChangePolicy seLinuxChangePolicy supplementalGroupsPolicy
  bool? runAsNonRoot
  SELinuxOptions seLinuxOptions
  SeccompProfile seccompProfile
  [int] supplementalGroups
  [Sysctl] sysctls
  WindowsSecurityContextOptions windowsOptions
Sysctl: string+ name value
Toleration: string effect key operator value; int? tolerationSeconds
TopologySpreadConstraint:
  LabelSelector! labelSelector
  [string] matchLabelKeys
  int+ maxSkew
  int? minDomains
  string? nodeAffinityPolicy nodeTaintsPolicy
  string+ topologyKey whenUnsatisfiable
PodStatus:
  [PodCondition]keys(type)<merge:type> conditions
  [ContainerStatus] containerStatuses ephemeralContainerStatuses initContainerStatuses
  PodExtendedResourceClaimStatus extendedResourceClaimStatus
  string hostIP message nominatedNodeName phase podIP qosClass reason resize
  time? startTime
  [HostIP]<merge:ip> hostIPs
  int observedGeneration
  [PodIP]keys(ip)<merge:ip> podIPs
  [PodResourceClaimStatus]keys(name)<merge,retainKeys:name> resourceClaimStatuses
PodCondition:
  time+ lastProbeTime lastTransitionTime
  string message reason
  string+ status type
  int observedGeneration
ContainerStatus:
  {quantity} allocatedResources
  [ResourceStatus]keys(name)<merge:name> allocatedResourcesStatus
  string containerID
  string+ image imageID name
  string? stopSignal
  ContainerState+ lastState state
  bool+ ready
  bool? started
  ResourceRequirements resources
  int+ restartCount
  ContainerUser user
  [VolumeMountStatus]keys(mountPath)<merge:mountPath> volumeMounts
ResourceStatus: string+ name; [ResourceHealth]keys(resourceID) resources
ResourceHealth: string health; string+ resourceID
ContainerState:
  ContainerStateRunning running
  ContainerStateTerminated terminated
  ContainerStateWaiting waiting
ContainerStateRunning: time+ startedAt
ContainerStateTerminated:
  string containerID message reason
  time+ finishedAt startedAt
  int+ exitCode
  int signal
ContainerStateWaiting: string message reason
ContainerUser: LinuxContainerUser linux
LinuxContainerUser: int+ gid uid; [int] supplementalGroups
VolumeMountStatus: string+ mountPath name; string? recursiveReadOnly; bool readOnly
PodExtendedResourceClaimStatus:
  [ContainerExtendedResourceRequest]+ requestMappings
  string+ resourceClaimName
ContainerExtendedResourceRequest: string+ containerName requestName resourceName
HostIP: string+ ip
PodIP: string+ ip
PodResourceClaimStatus: string+ name; string? resourceClaimName
PodTemplateSpec: ObjectMeta+ metadata; PodSpec+ spec
"""
