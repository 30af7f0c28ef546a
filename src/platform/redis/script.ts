import { hash } from 'node:crypto'

/** A Lua script and its SHA-1. */
export interface Script {
  text: string
  sha: string
}

export const scriptOf = (text: string): Script => ({ text, sha: hash('sha1', text) })

type Send = (...parts: [string, ...(string | number)[]]) => Promise<unknown>

const isUnknown = (error: unknown): boolean => error instanceof Error && error.message.startsWith('NOSCRIPT')

/**
 * Runs a script by its SHA-1, and sends its text only if Redis does not know it: the first time on each node, and after a
 * restart, a failover or SCRIPT FLUSH. Nothing is loaded in advance, so no load can fail.
 */
export const runScript = async (
  send: Send,
  { text, sha }: Script,
  keys: readonly string[],
  values: readonly (string | number)[],
): Promise<unknown> => {
  const rest = [keys.length, ...keys, ...values]
  try {
    return await send('EVALSHA', sha, ...rest)
  } catch (error) {
    if (!isUnknown(error)) throw error
    return send('EVAL', text, ...rest)
  }
}
