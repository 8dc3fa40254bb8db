"""Field tables of the core, discovery and coordination kinds, in the notation that `schemas` reads.

One line or paragraph per type: the type of a field, then the names of the fields that have it. What the
notation means is told in `schemas`; Pods and their volumes have tables of their own.
"""

TYPES = """
Namespace: NamespaceSpec+ spec; NamespaceStatus+ status
ObjectMeta:
  {string} annotations labels
  time creationTimestamp
  time? deletionTimestamp
  string generateName name namespace resourceVersion selfLink uid
  int? deletionGracePeriodSeconds
  int generation
  [string]set<merge> finalizers
  [ManagedFieldsEntry]? managedFields
  [OwnerReference!]keys(uid)<merge:uid> ownerReferences
ManagedFieldsEntry: string apiVersion fieldsType manager operation subresource; time? time; any fieldsV1
OwnerReference: string+ apiVersion kind name uid; bool? blockOwnerDeletion controller
NamespaceSpec: [string] finalizers
NamespaceStatus: [NamespaceCondition]keys(type)<merge:type> conditions; string phase
NamespaceCondition: time+ lastTransitionTime; string message reason; string+ status type
Node: NodeSpec+ spec; NodeStatus+ status
NodeSpec:
  NodeConfigSource configSource
  string externalID podCIDR providerID
  [string]set<merge> podCIDRs
  [Taint] taints
  bool unschedulable
NodeConfigSource: ConfigMapNodeConfigSource configMap
ConfigMapNodeConfigSource: string+ kubeletConfigKey name namespace; string resourceVersion uid
Taint: string+ effect key; time? timeAdded; string value
NodeStatus:
  [NodeAddress]keys(type)<merge:type> addresses
  {quantity} allocatable capacity
  [NodeCondition]keys(type)<merge:type> conditions
  NodeConfigStatus config
  NodeDaemonEndpoints+ daemonEndpoints
  NodeFeatures features
  [ContainerImage] images
  NodeSystemInfo+ nodeInfo
  string phase
  [NodeRuntimeHandler] runtimeHandlers
  [AttachedVolume] volumesAttached
  [string] volumesInUse
NodeAddress: string+ address type
NodeCondition: time+ lastHeartbeatTime lastTransitionTime; string message reason; string+ status type
NodeConfigStatus: NodeConfigSource active assigned lastKnownGood; string error
NodeDaemonEndpoints: DaemonEndpoint+ kubeletEndpoint
DaemonEndpoint: int+ Port
NodeFeatures: bool? supplementalGroupsPolicy
ContainerImage: [string]+ names; int sizeBytes
NodeSystemInfo:
  string+ architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion
    machineID operatingSystem osImage systemUUID
  NodeSwapStatus swap
NodeSwapStatus: int? capacity
NodeRuntimeHandler: NodeRuntimeHandlerFeatures features; string+ name
NodeRuntimeHandlerFeatures: bool? recursiveReadOnlyMounts userNamespaces
AttachedVolume: string+ devicePath name
Service: ServiceSpec+ spec; ServiceStatus+ status
ServiceSpec:
  bool? allocateLoadBalancerNodePorts
  bool publishNotReadyAddresses
  string clusterIP externalName externalTrafficPolicy loadBalancerIP sessionAffinity type
  string? internalTrafficPolicy ipFamilyPolicy loadBalancerClass trafficDistribution
  [string] clusterIPs externalIPs ipFamilies loadBalancerSourceRanges
  int healthCheckNodePort
  [ServicePort]keys(port,protocol=TCP)<merge:port> ports
  {string}! selector
  SessionAffinityConfig sessionAffinityConfig
ServicePort: string? appProtocol; string name protocol; int nodePort; int+ port; intstr+ targetPort
SessionAffinityConfig: ClientIPConfig clientIP
ClientIPConfig: int? timeoutSeconds
ServiceStatus: [Condition]keys(type)<merge:type> conditions; LoadBalancerStatus+ loadBalancer
Condition: time+ lastTransitionTime; string+ message reason status type; int observedGeneration
LoadBalancerStatus: [LoadBalancerIngress] ingress
LoadBalancerIngress: string hostname ip; string? ipMode; [PortStatus] ports
PortStatus: string? error; string+ protocol; int+ port
Endpoints: [EndpointSubset] subsets
EndpointSubset: [EndpointAddress!] addresses notReadyAddresses; [EndpointPort!] ports
EndpointAddress: string hostname; string+ ip; string? nodeName; ObjectReference! targetRef
ObjectReference: string apiVersion fieldPath kind name namespace resourceVersion uid
EndpointPort: string? appProtocol; string name protocol; int+ port
ConfigMap: {string} binaryData data; bool? immutable
Secret: string type; {string} data stringData; bool? immutable
ServiceAccount:
  bool? automountServiceAccountToken
  [LocalObjectReference!] imagePullSecrets
  [ObjectReference!]keys(name)<merge:name> secrets
Event:
  string action message reason type
  time+ eventTime firstTimestamp lastTimestamp
  string+ reportingComponent reportingInstance
  int count
  ObjectReference!+ involvedObject
  ObjectReference! related
  EventSeries series
  EventSource+ source
EventSeries: int count; time+ lastObservedTime
EventSource: string component host
EndpointSlice: string+ addressType; [Endpoint]+ endpoints; [DiscoveryEndpointPort!]+ ports
Endpoint:
  [string]set+ addresses
  EndpointConditions+ conditions
  {string} deprecatedTopology
  EndpointHints hints
  string? hostname nodeName zone
  ObjectReference! targetRef
EndpointConditions: bool? ready serving terminating
EndpointHints: [ForNode] forNodes; [ForZone] forZones
ForNode: string+ name
ForZone: string+ name
DiscoveryEndpointPort: string? appProtocol name protocol; int? port
Lease: LeaseSpec+ spec
LeaseSpec:
  time? acquireTime renewTime
  string? holderIdentity preferredHolder strategy
  int? leaseDurationSeconds leaseTransitions
"""
