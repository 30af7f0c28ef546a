import { LRUCache } from 'lru-cache'

/**
 * The same function, with its last `max` answers at hand: a keyed digest costs as much as the rest of what is checked of a
 * request, and a client's hash is the same on each of its calls.
 */
export const rememberDigests = (digestOf: (text: string) => string, max: number): ((text: string) => string) => {
  const known = new LRUCache<string, string>({ max })
  return (text) => {
    const remembered = known.get(text)
    if (remembered !== undefined) return remembered
    const digest = digestOf(text)
    known.set(text, digest)
    return digest
  }
}
