import type { MaybePromise } from '../../kernel/index.ts'

/**
 * May lose its contents. Each call is atomic across all replicas. Times are in milliseconds. If the cache is
 * unavailable, calls reject.
 */
export interface Cache {
  get(key: string): Promise<string | undefined>
  set(key: string, text: string, ttl: number): Promise<void>
  delete(key: string): Promise<void>
  increment(key: string, window: number): Promise<Count>
  /**
   * Returns false if the key was claimed within the last `ttl`. Rejects if the memory is full, because an earlier claim that
   * is forgotten would allow a replay.
   */
  claim(key: string, ttl: number): MaybePromise<boolean>
  /**
   * Returns the group's epoch, or undefined if the group has `max` members. The group expires `ttl` after the last
   * member joined. Only a new or lost group uses `epoch`. A member takes no memory until it spends its first number.
   */
  joinGroup(group: string, options: { epoch: string; max: number; ttl: number }): MaybePromise<string | undefined>
  /**
   * Numbers start at 1. Returns false if the number is spent, if it is at least `size` below the highest spent number,
   * or if the window is not open.
   */
  spend(window: WindowName, sequence: number, size: number): MaybePromise<boolean>
  /** False if the window was closed, or if its group has expired or been lost. */
  isOpen(window: WindowName): MaybePromise<boolean>
  /** The window stays closed until the group expires. Needs no additional memory. */
  closeWindow(window: WindowName): Promise<void>
  close(): Promise<void>
}

/**
 * A lost group gets a new epoch. Windows of an earlier epoch count as closed, so a sequence number cannot be used again
 * after a loss.
 */
export interface WindowName {
  group: string
  epoch: string
  member: string
}

/** A counter after an increment. */
export interface Count {
  count: number
  /** Milliseconds until the window closes. */
  remaining: number
}
