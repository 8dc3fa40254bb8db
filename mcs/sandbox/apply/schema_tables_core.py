"""Field tables of the core, discovery and coordination kinds, in the notation that `schemas` reads.

One line or paragraph per type: the type of a field, then the names of the fields that have it. What the
notation means is told in `schemas`; Pods and their volumes have tables of their own.
"""

TYPES = """
Namespace: NamespaceSpec spec; NamespaceStatus status
ObjectMeta:
  {string} annotations labels
  string creationTimestamp deletionTimestamp generateName name namespace resourceVersion selfLink uid
  int deletionGracePeriodSeconds generation
  [string]set<merge> finalizers
  [ManagedFieldsEntry] managedFields
  [OwnerReference!]keys(uid)<merge:uid> ownerReferences
ManagedFieldsEntry: string apiVersion fieldsType manager operation subresource time; any fieldsV1
OwnerReference: string apiVersion kind name uid; bool blockOwnerDeletion controller
NamespaceSpec: [string] finalizers
NamespaceStatus: [NamespaceCondition]keys(type)<merge:type> conditions; string phase
NamespaceCondition: string lastTransitionTime message reason status type
Node: NodeSpec spec; NodeStatus status
NodeSpec:
  NodeConfigSource configSource
  string externalID podCIDR providerID
  [string]set<merge> podCIDRs
  [Taint] taints
  bool unschedulable
NodeConfigSource: ConfigMapNodeConfigSource configMap
ConfigMapNodeConfigSource: string kubeletConfigKey name namespace resourceVersion uid
Taint: string effect key timeAdded value
NodeStatus:
  [NodeAddress]keys(type)<merge:type> addresses
  {quantity} allocatable capacity
  [NodeCondition]keys(type)<merge:type> conditions
  NodeConfigStatus config
  NodeDaemonEndpoints daemonEndpoints
  NodeFeatures features
  [ContainerImage] images
  NodeSystemInfo nodeInfo
  string phase
  [NodeRuntimeHandler] runtimeHandlers
  [AttachedVolume] volumesAttached
  [string] volumesInUse
NodeAddress: string address type
NodeCondition: string lastHeartbeatTime lastTransitionTime message reason status type
NodeConfigStatus: NodeConfigSource active assigned lastKnownGood; string error
NodeDaemonEndpoints: DaemonEndpoint kubeletEndpoint
DaemonEndpoint: int Port
NodeFeatures: bool supplementalGroupsPolicy
ContainerImage: [string] names; int sizeBytes
NodeSystemInfo:
  string architecture bootID containerRuntimeVersion kernelVersion kubeProxyVersion kubeletVersion
    machineID operatingSystem osImage systemUUID
  NodeSwapStatus swap
NodeSwapStatus: int capacity
NodeRuntimeHandler: NodeRuntimeHandlerFeatures features; string name
NodeRuntimeHandlerFeatures: bool recursiveReadOnlyMounts userNamespaces
AttachedVolume: string devicePath name
Service: ServiceSpec spec; ServiceStatus status
ServiceSpec:
  bool allocateLoadBalancerNodePorts publishNotReadyAddresses
  string clusterIP externalName externalTrafficPolicy internalTrafficPolicy ipFamilyPolicy
    loadBalancerClass loadBalancerIP sessionAffinity trafficDistribution type
  [string] clusterIPs externalIPs ipFamilies loadBalancerSourceRanges
  int healthCheckNodePort
  [ServicePort]keys(port,protocol=TCP)<merge:port> ports
  {string}! selector
  SessionAffinityConfig sessionAffinityConfig
ServicePort: string appProtocol name protocol; int nodePort port; intstr targetPort
SessionAffinityConfig: ClientIPConfig clientIP
ClientIPConfig: int timeoutSeconds
ServiceStatus: [Condition]keys(type)<merge:type> conditions; LoadBalancerStatus loadBalancer
Condition: string lastTransitionTime message reason status type; int observedGeneration
LoadBalancerStatus: [LoadBalancerIngress] ingress
LoadBalancerIngress: string hostname ip ipMode; [PortStatus] ports
PortStatus: string error protocol; int port
Endpoints: [EndpointSubset] subsets
EndpointSubset: [EndpointAddress!] addresses notReadyAddresses; [EndpointPort!] ports
EndpointAddress: string hostname ip nodeName; ObjectReference! targetRef
ObjectReference: string apiVersion fieldPath kind name namespace resourceVersion uid
EndpointPort: string appProtocol name protocol; int port
ConfigMap: {string} binaryData data; bool immutable
Secret: string type; {string} data stringData; bool immutable
ServiceAccount:
  bool automountServiceAccountToken
  [LocalObjectReference!] imagePullSecrets
  [ObjectReference!]keys(name)<merge:name> secrets
Event:
  string action eventTime firstTimestamp lastTimestamp message reason reportingComponent reportingInstance
    type
  int count
  ObjectReference! involvedObject related
  EventSeries series
  EventSource source
EventSeries: int count; string lastObservedTime
EventSource: string component host
EndpointSlice: string addressType; [Endpoint] endpoints; [EndpointPort!] ports
Endpoint:
  [string]set addresses
  EndpointConditions conditions
  {string} deprecatedTopology
  EndpointHints hints
  string hostname nodeName zone
  ObjectReference! targetRef
EndpointConditions: bool ready serving terminating
EndpointHints: [ForNode] forNodes; [ForZone] forZones
ForNode: string name
ForZone: string name
Lease: LeaseSpec spec
LeaseSpec:
  string acquireTime holderIdentity preferredHolder renewTime strategy
  int leaseDurationSeconds leaseTransitions
"""
