import type { endBrowserSession, readBrowserSession } from '../../identity/browser-sessions/contract.ts'
import type { TokenSource } from '../operation-caller.ts'
import type { OperationCaller, Result } from '../operation-types.ts'
import { signedInElsewhere } from './session.ts'
import type { Storage } from './storage.ts'

/** Whether the browser is signed in, and the facts of its session. */
export type SessionState = Result<typeof readBrowserSession>

/**
 * The session of a browser, whose cookie no script can read. The account is the one that signed in here, or that the page
 * found first. After another tab has signed in a different one, calls reject with CLIENT.SIGNED_IN_ELSEWHERE.
 */
export interface CookieSession {
  /** Asks the gateway. Does not prolong the session. Names the permissions of `workspaceId`. */
  read(options?: { workspaceId?: string }): Promise<SessionState>
  /**
   * Calls the listener after a sign-in and after the end of the session, in this tab or another one. Reload the page if
   * another tab has signed in a different account. Returns the function that removes the listener.
   */
  onChange(listener: (session: SessionState) => void): () => void
}

export interface CookieOperations {
  readBrowserSession: typeof readBrowserSession
  endBrowserSession: typeof endBrowserSession
}

interface CookieSessionParts {
  operations: CookieOperations
  caller(): OperationCaller
  storage: Storage
  /** Of the storage, and the name of the channel between tabs. */
  key: string
  onSignedOut(): void
}

export class CookieSessions implements CookieSession, TokenSource {
  private readonly parts: CookieSessionParts
  private readonly listeners = new Set<(session: SessionState) => void>()
  private channel: BroadcastChannel | null = null
  /** Null until an account is seen. */
  private account: string | null = null

  constructor(parts: CookieSessionParts) {
    this.parts = parts
  }

  async read(options: { workspaceId?: string } = {}): Promise<SessionState> {
    const session = await this.ask(options)
    if (await this.adopt(session)) {
      this.notify(session)
      this.announce()
    }
    return session
  }

  onChange(listener: (session: SessionState) => void): () => void {
    this.listeners.add(listener)
    if (!this.channel && typeof BroadcastChannel !== 'undefined') {
      this.channel = new BroadcastChannel(this.parts.key)
      this.channel.onmessage = () => void this.update()
    }
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size > 0) return
      this.channel?.close()
      this.channel = null
    }
  }

  /** Returns null, because the browser sends the cookie. Rejects with CLIENT.SIGNED_IN_ELSEWHERE before the call. */
  async current(): Promise<null> {
    const stored = await this.parts.storage.getItem(this.parts.key)
    // A page that never called `read` also shows the account of its first call.
    this.account ??= stored
    if (stored === this.account) return null
    if (stored !== null) throw signedInElsewhere()
    // Another tab has signed out, or has not yet stored the account that it signed in.
    await this.read()
    return null
  }

  /** Called after a call was refused without a token. */
  async replace(): Promise<boolean> {
    if (await this.update()) this.announce()
    return false
  }

  /** Called after a sign-in in this client. */
  async started(): Promise<void> {
    this.account = null
    // Other tabs must not rely on the previous account, even if the call below fails.
    await this.parts.storage.removeItem(this.parts.key)
    const session = await this.ask()
    await this.adopt(session)
    this.notify(session)
    this.announce()
  }

  /** Signs out. */
  async end(): Promise<void> {
    await this.current()
    await this.parts.caller().answer(this.parts.operations.endBrowserSession, {})
    this.account = null
    await this.parts.storage.removeItem(this.parts.key)
    this.notify({ signedIn: false })
    this.announce()
  }

  private async ask({ workspaceId }: { workspaceId?: string } = {}): Promise<SessionState> {
    const options = workspaceId === undefined ? {} : { workspaceId }
    return (await this.parts.caller().answer(this.parts.operations.readBrowserSession, options)).data
  }

  /** Returns whether the account's session has ended. */
  private async adopt(session: SessionState): Promise<boolean> {
    const account = session.accountBizId ?? null
    if (account === null) return this.forget()
    if (this.account !== null && this.account !== account) throw signedInElsewhere()
    await this.remember(account)
    return false
  }

  /**
   * Listeners also see the session of a different account, whose calls reject. Returns whether the account's session has
   * ended. An announcement must not lead to others, because each tab asks the gateway for each of them.
   */
  private async update(): Promise<boolean> {
    const session = await this.ask().catch(() => undefined)
    if (!session) return false
    const hasEnded = await this.adopt(session).catch(() => false)
    this.notify(session)
    return hasEnded
  }

  private async remember(account: string): Promise<void> {
    this.account = account
    await this.parts.storage.setItem(this.parts.key, account)
  }

  private async forget(): Promise<boolean> {
    if (this.account === null) return false
    this.account = null
    await this.parts.storage.removeItem(this.parts.key)
    this.parts.onSignedOut()
    return true
  }

  private notify(session: SessionState): void {
    for (const listener of this.listeners) listener(session)
  }

  private announce(): void {
    if (typeof BroadcastChannel === 'undefined') return
    // A channel does not receive its own messages.
    const channel = this.channel ?? new BroadcastChannel(this.parts.key)
    channel.postMessage(null)
    if (channel !== this.channel) channel.close()
  }
}
