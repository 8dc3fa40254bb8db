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
  string+ name
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
AWSElasticBlockStoreVolumeSource: string fsType; string+ volumeID; int partition; bool readOnly
AzureDiskVolumeSource: string? cachingMode fsType kind; string+ diskName diskURI; bool? readOnly
AzureFileVolumeSource: bool readOnly; string+ secretName shareName
CephFSVolumeSource:
  [string]+ monitors
  string path secretFile user
  bool readOnly
  LocalObjectReference! secretRef
CinderVolumeSource: string fsType; string+ volumeID; bool readOnly; LocalObjectReference! secretRef
ConfigMapVolumeSource: int? defaultMode; [KeyToPath] items; string name; bool? optional
KeyToPath: string+ key path; int? mode
CSIVolumeSource:
  string+ driver
  string? fsType
  LocalObjectReference! nodePublishSecretRef
  bool? readOnly
  {string} volumeAttributes
DownwardAPIVolumeSource: int? defaultMode; [DownwardAPIVolumeFile] items
DownwardAPIVolumeFile:
  ObjectFieldSelector! fieldRef
  int? mode
  string+ path
  ResourceFieldSelector! resourceFieldRef
EmptyDirVolumeSource: string medium; quantity? sizeLimit
EphemeralVolumeSource: PersistentVolumeClaimTemplate volumeClaimTemplate
PersistentVolumeClaimTemplate: ObjectMeta+ metadata; PersistentVolumeClaimSpec+ spec
PersistentVolumeClaimSpec:
  [string] accessModes
  TypedLocalObjectReference! dataSource
  TypedObjectReference dataSourceRef
  VolumeResourceRequirements+ resources
  LabelSelector! selector
  string? storageClassName volumeAttributesClassName volumeMode
  string volumeName
TypedLocalObjectReference: string? apiGroup; string+ kind name
TypedObjectReference: string? apiGroup namespace; string+ kind name
VolumeResourceRequirements: {quantity} limits requests
FCVolumeSource: string fsType; int? lun; bool readOnly; [string] targetWWNs wwids
FlexVolumeSource:
  string+ driver
  string fsType
  {string} options
  bool readOnly
  LocalObjectReference! secretRef
FlockerVolumeSource: string datasetName datasetUUID
GCEPersistentDiskVolumeSource: string fsType; string+ pdName; int partition; bool readOnly
GitRepoVolumeSource: string directory revision; string+ repository
GlusterfsVolumeSource: string+ endpoints path; bool readOnly
HostPathVolumeSource: string+ path; string? type
ImageVolumeSource: string pullPolicy reference
ISCSIVolumeSource:
  bool chapAuthDiscovery chapAuthSession readOnly
  string fsType iscsiInterface
  string? initiatorName
  string+ iqn targetPortal
  int+ lun
  [string] portals
  LocalObjectReference! secretRef
NFSVolumeSource: string+ path server; bool readOnly
PersistentVolumeClaimVolumeSource: string+ claimName; bool readOnly
PhotonPersistentDiskVolumeSource: string fsType; string+ pdID
PortworxVolumeSource: string fsType; string+ volumeID; bool readOnly
ProjectedVolumeSource: int? defaultMode; [VolumeProjection]+ sources
VolumeProjection:
  ClusterTrustBundleProjection clusterTrustBundle
  ConfigMapProjection configMap
  DownwardAPIProjection downwardAPI
  PodCertificateProjection podCertificate
  SecretProjection secret
  ServiceAccountTokenProjection serviceAccountToken
ClusterTrustBundleProjection:
  LabelSelector! labelSelector
  string? name signerName
  string+ path
  bool? optional
ConfigMapProjection: [KeyToPath] items; string name; bool? optional
DownwardAPIProjection: [DownwardAPIVolumeFile] items
PodCertificateProjection:
  string certificateChainPath credentialBundlePath keyPath keyType signerName
  int? maxExpirationSeconds
SecretProjection: [KeyToPath] items; string name; bool? optional
ServiceAccountTokenProjection: string audience; string+ path; int? expirationSeconds
QuobyteVolumeSource: string group tenant user; string+ registry volume; bool readOnly
RBDVolumeSource:
  string fsType keyring pool user
  string+ image
  [string]+ monitors
  bool readOnly
  LocalObjectReference! secretRef
ScaleIOVolumeSource:
  string fsType protectionDomain storageMode storagePool volumeName
  string+ gateway system
  bool readOnly sslEnabled
  LocalObjectReference! secretRef
SecretVolumeSource: int? defaultMode; [KeyToPath] items; bool? optional; string secretName
StorageOSVolumeSource:
  string fsType volumeName volumeNamespace
  bool readOnly
  LocalObjectReference! secretRef
VsphereVirtualDiskVolumeSource: string fsType storagePolicyID storagePolicyName; string+ volumePath
PersistentVolumeClaim: PersistentVolumeClaimSpec+ spec; PersistentVolumeClaimStatus+ status
PersistentVolumeClaimStatus:
  [string] accessModes
  {string} allocatedResourceStatuses
  {quantity} allocatedResources capacity
  [PersistentVolumeClaimCondition]keys(type)<merge:type> conditions
  string? currentVolumeAttributesClassName
  string phase
  ModifyVolumeStatus modifyVolumeStatus
PersistentVolumeClaimCondition:
  time+ lastProbeTime lastTransitionTime
  string message reason
  string+ status type
ModifyVolumeStatus: string+ status; string targetVolumeAttributesClassName
"""
