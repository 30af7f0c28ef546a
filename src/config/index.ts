/*
 * The settings of config/*.yaml and the environment variables, checked as a whole. Depends on the kernel and the
 * catalogue. Start with `schema.ts`, then `load.ts`.
 */
export {
  backendServices,
  type CanaryConfiguration,
  maxReplyBytesOf,
  type PassThroughPrefix,
  placeOf,
  type ShadowConfiguration,
  type TrialConfiguration,
  trialOf,
  type UpstreamConfiguration,
  upstreamSettings,
} from './backends.ts'
export {
  defaultsOf,
  mergeSettings,
  placedOwners,
  type SettingsContext,
  type SettingsDeclaration,
  type SettingsOwner,
  settingsAt,
} from './domain-settings.ts'
export { inPackage, settingName } from './env.ts'
export { settingsThatNeedRestart } from './environment/restart-settings.ts'
export { tlsFileErrors } from './environment/tls-files.ts'
export type { LogField, StreamSettings } from './infrastructure.ts'
export { ConfigurationError, compareWithProduction, loadConfiguration } from './load.ts'
export {
  additionalPortals,
  offersDomain,
  portalMounts,
  portalNames,
} from './portals/additional.ts'
export {
  type LimitRule,
  limitsOf,
  type PortalLimits,
  rateGroupErrors,
  replaceLimits,
  requiredPasskeyErrors,
  withRateGroups,
} from './portals/limits.ts'
export { hasAppCode, type PortalConfiguration, type Portals, settingsOfPortal } from './portals/settings.ts'
export type { ProviderConfiguration } from './providers/settings.ts'
export type { Configuration } from './schema.ts'
export type { SitePolicy } from './site.ts'
export { explainIssue, isHttps, maskTexts, Secret } from './values.ts'
