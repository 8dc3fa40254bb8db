"""Field tables of volumes and volume claims, in the notation that `schemas` reads."""

TYPES = """
Volume:
  AWSElasticBlockStoreVolumeSource awsElasticBlockStore
  AzureDiskVolumeSource azureDisk
  AzureFileVolumeSource azureFile
  CephFSVolumeSource cephfs
  CinderVolumeSource cinder
  ConfigMapVolumeSource configMap
  CSIVolumeSource csi
  DownwardAPIVolumeSource downwardAPI
  EmptyDirVolumeSource emptyDir
  EphemeralVolumeSource ephemeral
  FCVolumeSource fc
  FlexVolumeSource flexVolume
  FlockerVolumeSource flocker
  GCEPersistentDiskVolumeSource gcePersistentDisk
  GitRepoVolumeSource gitRepo
  GlusterfsVolumeSource glusterfs
  HostPathVolumeSource hostPath
  ImageVolumeSource image
  ISCSIVolumeSource iscsi
  string name
  NFSVolumeSource nfs
  PersistentVolumeClaimVolumeSource persistentVolumeClaim
  PhotonPersistentDiskVolumeSource photonPersistentDisk
  PortworxVolumeSource portworxVolume
  ProjectedVolumeSource projected
  QuobyteVolumeSource quobyte
  RBDVolumeSource rbd
  ScaleIOVolumeSource scaleIO
  SecretVolumeSource secret
  StorageOSVolumeSource storageos
  VsphereVirtualDiskVolumeSource vsphereVolume
AWSElasticBlockStoreVolumeSource: string fsType volumeID; int partition; bool readOnly
AzureDiskVolumeSource: string cachingMode diskName diskURI fsType kind; bool readOnly
AzureFileVolumeSource: bool readOnly; string secretName shareName
CephFSVolumeSource:
  [string] monitors
  string path secretFile user
  bool readOnly
  LocalObjectReference! secretRef
CinderVolumeSource: string fsType volumeID; bool readOnly; LocalObjectReference! secretRef
ConfigMapVolumeSource: int defaultMode; [KeyToPath] items; string name; bool optional
KeyToPath: string key path; int mode
CSIVolumeSource:
  string driver fsType
  LocalObjectReference! nodePublishSecretRef
  bool readOnly
  {string} volumeAttributes
DownwardAPIVolumeSource: int defaultMode; [DownwardAPIVolumeFile] items
DownwardAPIVolumeFile:
  ObjectFieldSelector! fieldRef
  int mode
  string path
  ResourceFieldSelector! resourceFieldRef
EmptyDirVolumeSource: string medium; quantity sizeLimit
EphemeralVolumeSource: PersistentVolumeClaimTemplate volumeClaimTemplate
PersistentVolumeClaimTemplate: ObjectMeta metadata; PersistentVolumeClaimSpec spec
PersistentVolumeClaimSpec:
  [string] accessModes
  TypedLocalObjectReference! dataSource
  TypedObjectReference dataSourceRef
  VolumeResourceRequirements resources
  LabelSelector! selector
  string storageClassName volumeAttributesClassName volumeMode volumeName
TypedLocalObjectReference: string apiGroup kind name
TypedObjectReference: string apiGroup kind name namespace
VolumeResourceRequirements: {quantity} limits requests
FCVolumeSource: string fsType; int lun; bool readOnly; [string] targetWWNs wwids
FlexVolumeSource: string driver fsType; {string} options; bool readOnly; LocalObjectReference! secretRef
FlockerVolumeSource: string datasetName datasetUUID
GCEPersistentDiskVolumeSource: string fsType pdName; int partition; bool readOnly
GitRepoVolumeSource: string directory repository revision
GlusterfsVolumeSource: string endpoints path; bool readOnly
HostPathVolumeSource: string path type
ImageVolumeSource: string pullPolicy reference
ISCSIVolumeSource:
  bool chapAuthDiscovery chapAuthSession readOnly
  string fsType initiatorName iqn iscsiInterface targetPortal
  int lun
  [string] portals
  LocalObjectReference! secretRef
NFSVolumeSource: string path server; bool readOnly
PersistentVolumeClaimVolumeSource: string claimName; bool readOnly
PhotonPersistentDiskVolumeSource: string fsType pdID
PortworxVolumeSource: string fsType volumeID; bool readOnly
ProjectedVolumeSource: int defaultMode; [VolumeProjection] sources
VolumeProjection:
  ClusterTrustBundleProjection clusterTrustBundle
  ConfigMapProjection configMap
  DownwardAPIProjection downwardAPI
  PodCertificateProjection podCertificate
  SecretProjection secret
  ServiceAccountTokenProjection serviceAccountToken
ClusterTrustBundleProjection: LabelSelector! labelSelector; string name path signerName; bool optional
ConfigMapProjection: [KeyToPath] items; string name; bool optional
DownwardAPIProjection: [DownwardAPIVolumeFile] items
PodCertificateProjection:
  string certificateChainPath credentialBundlePath keyPath keyType signerName
  int maxExpirationSeconds
SecretProjection: [KeyToPath] items; string name; bool optional
ServiceAccountTokenProjection: string audience path; int expirationSeconds
QuobyteVolumeSource: string group registry tenant user volume; bool readOnly
RBDVolumeSource:
  string fsType image keyring pool user
  [string] monitors
  bool readOnly
  LocalObjectReference! secretRef
ScaleIOVolumeSource:
  string fsType gateway protectionDomain storageMode storagePool system volumeName
  bool readOnly sslEnabled
  LocalObjectReference! secretRef
SecretVolumeSource: int defaultMode; [KeyToPath] items; bool optional; string secretName
StorageOSVolumeSource:
  string fsType volumeName volumeNamespace
  bool readOnly
  LocalObjectReference! secretRef
VsphereVirtualDiskVolumeSource: string fsType storagePolicyID storagePolicyName volumePath
PersistentVolumeClaim: PersistentVolumeClaimSpec spec; PersistentVolumeClaimStatus status
PersistentVolumeClaimStatus:
  [string] accessModes
  {string} allocatedResourceStatuses
  {quantity} allocatedResources capacity
  [PersistentVolumeClaimCondition]keys(type)<merge:type> conditions
  string currentVolumeAttributesClassName phase
  ModifyVolumeStatus modifyVolumeStatus
PersistentVolumeClaimCondition: string lastProbeTime lastTransitionTime message reason status type
ModifyVolumeStatus: string status targetVolumeAttributesClassName
"""
