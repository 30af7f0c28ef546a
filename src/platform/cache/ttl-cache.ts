import { LRUCache } from 'lru-cache'
import type { Clock, Instant, MaybePromise } from '../../kernel/index.ts'

/** Answers of a store that serve for a while by their key. */
export interface TtlCache<T> {
  /** The known answer, at once where it has come; otherwise what `ask` answers. */
  read(key: string, ask: () => Promise<T>): MaybePromise<T>
  /** The next look-up goes to the store: to be called once a change is committed. */
  forget(key: string): void
  forgetAll(): void
}

interface Answer<T> {
  askedAt: Instant
  pending: Promise<T>
  come: { value: T } | null
}

/**
 * An answer counts from when it was asked for, and one that was under way when its key was forgotten is not used again.
 * Failures are not kept. At `max` keys the least recently used one is lost.
 */
export const createTtlCache = <T>(clock: Clock, { ms, max }: { ms: number; max: number }): TtlCache<T> => {
  const answers = new LRUCache<string, Answer<T>>({ max })
  return {
    read: (key, ask) => {
      const known = answers.get(key)
      const age = known ? clock.now() - known.askedAt : -1
      if (known && age >= 0 && age < ms) return known.come ? known.come.value : known.pending
      const answer: Answer<T> = { askedAt: clock.now(), pending: ask(), come: null }
      answers.set(key, answer)
      answer.pending.then(
        (value) => {
          answer.come = { value }
        },
        () => answers.get(key) === answer && answers.delete(key),
      )
      return answer.pending
    },
    forget: (key) => void answers.delete(key),
    forgetAll: () => answers.clear(),
  }
}
