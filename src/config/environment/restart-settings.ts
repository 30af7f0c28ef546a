import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../../kernel/index.ts'
import { settingName, type VariableName } from '../env.ts'
import type { Configuration } from '../schema.ts'
import { Secret } from '../values.ts'

/** A reload applies these settings. */
const reloaded = /^(backends|limits|portals\.\w+\.limits)(\.|$)/

/** Values that come from variables, or from the files that they name. */
const variables: Readonly<Record<string, VariableName>> = {
  dataDirectory: 'PORTICO_DATA_DIR',
  'secretKeys.current': 'PORTICO_SECRET_KEY',
  'secretKeys.previous': 'PORTICO_SECRET_KEY_PREVIOUS',
  databaseUrl: 'DATABASE_URL',
  redisUrl: 'REDIS_URL',
  smtpUrl: 'SMTP_URL',
}

/** Returns the names of the settings that differ and that only a restart applies. */
export function settingsThatNeedRestart(running: Configuration, changed: Configuration): string[] {
  return changedPaths(running, changed, [])
    .filter((path) => !reloaded.test(path))
    .map((path) => variables[path] ?? settingName(path))
}

/** Lists are compared as a whole. */
function changedPaths(before: unknown, after: unknown, path: readonly string[]): string[] {
  const [old, next] = [revealed(before), revealed(after)]
  if (!isRecord(old) || !isRecord(next) || ArrayBuffer.isView(old) || ArrayBuffer.isView(next))
    return isDeepStrictEqual(old, next) ? [] : [path.join('.')]
  const names = new Set([...Object.keys(old), ...Object.keys(next)])
  return [...names].flatMap((name) => changedPaths(old[name], next[name], [...path, name]))
}

/** `isDeepStrictEqual` does not see the value of a secret. */
function revealed(value: unknown): unknown {
  return value instanceof Secret ? value.reveal() : value
}
