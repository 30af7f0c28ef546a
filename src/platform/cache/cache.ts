import type { MaybePromise } from '../../kernel/index.ts'

/**
 * What may be lost: counters, channel sessions, short memories. Each call is atomic by itself, over all replicas.
 * Keys that belong together share a `{tag}`, so that a Redis Cluster keeps them on one node. All times in ms.
 * A fault throws; whoever asks then refuses.
 */
export interface Cache {
  get(key: string): MaybePromise<string | undefined>
  set(key: string, value: string, ttl: number): Promise<void>
  delete(key: string): Promise<void>
  /** Counts within a fixed window that opens with its first count. */
  increment(key: string, window: number): Promise<Count>
  /** Opens a replay window, in which each sequence number from 1 may be spent once. */
  openWindow(key: string, ttl: number): Promise<void>
  /**
   * Whether this number had not been spent and is not `size` or more below the highest spent so far. A window that
   * is unknown, expired or lost has nothing left to spend: loss refuses, it never lets a replay through.
   */
  spend(key: string, sequence: number, size: number): MaybePromise<boolean>
  close(): Promise<void>
}

export interface Count {
  count: number
  /** Until the window closes. */
  remaining: number
}
