import type { MaybePromise } from '../../kernel/index.ts'

/**
 * Stores counters and replay windows, which may be lost. Each call is atomic across all replicas. Keys of one script share
 * a `{tag}`, so that a Redis Cluster stores them on one node. All times are in milliseconds. If the cache is unavailable,
 * calls reject and the request fails.
 */
export interface Cache {
  /** Counts in a fixed window that opens with its first count. */
  increment(key: string, window: number): Promise<Count>
  /**
   * Adds a member to a group of replay windows. Returns the group's epoch, or undefined if the group has `max` members.
   * A member uses memory only after its first number. The group expires `ttl` after the last member joined. The first
   * member of a new or lost group sets the epoch to `epoch`.
   */
  joinGroup(group: string, options: { epoch: string; max: number; ttl: number }): MaybePromise<string | undefined>
  /**
   * Spends a sequence number from 1 in a window. Returns false if the number is spent, or is `size` or more below the
   * highest one spent, or if the window is not open.
   */
  spend(window: WindowName, sequence: number, size: number): MaybePromise<boolean>
  /** Whether the window is open: not closed, and its group neither expired nor lost. */
  isOpen(window: WindowName): MaybePromise<boolean>
  /** Closes a window until its group expires. Needs no additional memory. */
  closeWindow(window: WindowName): Promise<void>
  close(): Promise<void>
}

/**
 * The replay window of one member of a group. If a group is lost, all of its windows are lost and the group gets a new
 * epoch. Windows of an earlier epoch are not open, so a sequence number cannot be used again after a loss.
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
