import type { Variables } from './env.ts'
import type { Tree } from './merge.ts'

const number = (text: string): number | string => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text)

/** The variables as an overlay of the configuration; what is no number stays text, for the schema to refuse. */
export const overlayOf = (variables: Variables): Tree => {
  const listen = {
    ...(variables.HOST && { host: variables.HOST }),
    ...(variables.PORT && { port: number(variables.PORT) }),
    ...(variables.OPS_PORT && { operationsPort: number(variables.OPS_PORT) }),
  }
  return {
    listen,
    ...(variables.PORTICO_PROFILE && { profile: variables.PORTICO_PROFILE }),
    ...(variables.LOG_LEVEL && { log: { level: variables.LOG_LEVEL } }),
    ...(variables.PORTICO_RATE_LIMIT_SCALE && { limits: { scale: number(variables.PORTICO_RATE_LIMIT_SCALE) } }),
  }
}

const variableOf: Record<string, string> = {
  'listen.host': 'HOST',
  'listen.port': 'PORT',
  'listen.operationsPort': 'OPS_PORT',
  profile: 'PORTICO_PROFILE',
  'log.level': 'LOG_LEVEL',
  'limits.scale': 'PORTICO_RATE_LIMIT_SCALE',
}

/** The name under which a user knows a setting, with the variable that fills it. */
export const settingName = (path: string): string => (variableOf[path] ? `${path} (${variableOf[path]})` : path)
