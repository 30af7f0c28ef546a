/** The policy by which a Redis with a bound to its memory throws away what it holds; null where it refuses instead, or does not tell. */
export const evictionPolicy = async (
  ask: (...parts: [string, ...string[]]) => Promise<unknown>,
): Promise<string | null> => {
  const told = await ask('INFO', 'memory').catch(() => null)
  if (typeof told !== 'string') return null
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(told)?.[1]
  const policy = field('maxmemory_policy') ?? 'noeviction'
  return policy === 'noeviction' || field('maxmemory') === '0' ? null : policy
}
