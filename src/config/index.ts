export { ConfigurationError, loadConfiguration } from './load.ts'
export type { MoneySettings } from './money.ts'
export type { Configuration, LimitRule, PortalConfiguration, UpstreamConfiguration } from './schema.ts'
export { Secret } from './secrets.ts'
