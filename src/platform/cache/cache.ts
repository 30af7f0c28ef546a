import type { MaybePromise } from '../../kernel/index.ts'

/**
 * What may be lost: counters and replay windows. Each call is atomic by itself, over all replicas.
 * Keys that belong together share a `{tag}`, so that a Redis Cluster keeps them on one node. All times in ms.
 * A fault throws; whoever asks then refuses.
 */
export interface Cache {
  get(key: string): MaybePromise<string | undefined>
  set(key: string, value: string, ttl: number): Promise<void>
  delete(key: string): Promise<void>
  /** Counts within a fixed window that opens with its first count. */
  increment(key: string, window: number): Promise<Count>
  /**
   * Adds a member to a group of replay windows and returns the group's epoch, or undefined once `max` members have
   * joined. Joining stores nothing for the member: its window takes room from its first number on. The group expires
   * `ttl` after its latest join. Its first member, also after a loss, sets its epoch to `epoch`.
   */
  joinGroup(group: string, options: { epoch: string; max: number; ttl: number }): MaybePromise<string | undefined>
  /**
   * Spends a sequence number from 1 in a window. Returns false if the number is spent, or is `size` or more below the
   * highest one spent, or if the window is not open.
   */
  spend(window: WindowName, sequence: number, size: number): MaybePromise<boolean>
  /** Whether the window is open: not closed, and its group neither expired nor lost. */
  isOpen(window: WindowName): MaybePromise<boolean>
  /** Closes a window until its group expires. Needs no room. */
  closeWindow(window: WindowName): Promise<void>
  close(): Promise<void>
}

/**
 * A replay window of one member of a group. A group is lost as a whole, and gets another epoch then: numbers that were
 * spent before a loss stay spent, since no window of an earlier epoch is open.
 */
export interface WindowName {
  group: string
  epoch: string
  member: string
}

export interface Count {
  count: number
  /** Until the window closes. */
  remaining: number
}
