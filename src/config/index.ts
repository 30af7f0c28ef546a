/*
 * The configuration: the settings of config/*.yaml and the environment variables, checked as a whole. It depends on the
 * kernel and the catalogue. Start reading with `schema.ts`, then `load.ts`, which merges the layers and reports every
 * error.
 */
export { placeOf, type UpstreamConfiguration } from './backends.ts'
export { settingName } from './env.ts'
export { ConfigurationError, loadConfiguration } from './load.ts'
export type { TariffSettings } from './money.ts'
export { type LimitRule, limitsOf, type PortalConfiguration, type PortalLimits } from './portals.ts'
export type { Configuration } from './schema.ts'
export { isHttps, Secret } from './values.ts'
