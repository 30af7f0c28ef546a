import { hash } from 'node:crypto'

/** A Lua script and the SHA-1 that Redis knows it by. */
export interface Script {
  text: string
  sha: string
}

export const scriptOf = (text: string): Script => ({ text, sha: hash('sha1', text) })

type Ask = (...parts: [string, ...(string | number)[]]) => Promise<unknown>

const isUnknown = (error: unknown): boolean => error instanceof Error && error.message.startsWith('NOSCRIPT')

/**
 * Runs a script by its SHA-1 and sends its text only where Redis does not know it: the first time on each node, and
 * after a restart, a failover or SCRIPT FLUSH. Nothing is loaded beforehand, so nothing can have failed to load.
 */
export const runScript = async (
  ask: Ask,
  { text, sha }: Script,
  keys: readonly string[],
  values: readonly (string | number)[],
): Promise<unknown> => {
  const rest = [keys.length, ...keys, ...values]
  try {
    return await ask('EVALSHA', sha, ...rest)
  } catch (error) {
    if (!isUnknown(error)) throw error
    return ask('EVAL', text, ...rest)
  }
}
