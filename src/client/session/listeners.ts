import type { readBrowserSession } from '../../identity/browser-sessions/contract.ts'
import type { Result } from '../operation-types.ts'

/** Whether the user is signed in, and the facts of the session. In token mode, the account is the only fact. */
export type SessionState = Result<typeof readBrowserSession>

/** The listeners of a session, and the signals between the tabs that share it. */
export class SessionListeners {
  private readonly key: string
  private readonly onSignal: () => void
  private readonly listeners = new Set<(session: SessionState) => void>()
  private channel: BroadcastChannel | null = null

  /** `key` is the storage key of the value that the tabs share. `onSignal` is called after a change in another tab. */
  constructor(key: string, onSignal: () => void) {
    this.key = key
    this.onSignal = onSignal
  }

  get isEmpty(): boolean {
    return this.listeners.size === 0
  }

  /** Returns the function that removes the listener. */
  add(listener: (session: SessionState) => void): () => void {
    if (this.isEmpty) this.watch()
    this.listeners.add(listener)
    return () => {
      this.listeners.delete(listener)
      if (this.isEmpty) this.close()
    }
  }

  notify(session: SessionState): void {
    for (const listener of this.listeners) listener(session)
  }

  /** Signals a change to other tabs. */
  announce(): void {
    if (typeof BroadcastChannel === 'undefined') return
    // A channel does not receive its own messages.
    const channel = this.channel ?? new BroadcastChannel(this.key)
    channel.postMessage(null)
    if (channel !== this.channel) channel.close()
  }

  /** Removes all listeners. */
  close(): void {
    this.listeners.clear()
    this.channel?.close()
    this.channel = null
    globalThis.removeEventListener?.('storage', this.onStorage)
  }

  private watch(): void {
    // Storage events reach only other tabs, and only if the value changes.
    if (typeof BroadcastChannel === 'undefined') globalThis.addEventListener?.('storage', this.onStorage)
    else {
      this.channel = new BroadcastChannel(this.key)
      this.channel.onmessage = this.onSignal
    }
  }

  private readonly onStorage = (event: Event): void => {
    // The key is null after `clear()`.
    if (event instanceof StorageEvent && (event.key ?? this.key) === this.key) this.onSignal()
  }
}
