import type { endBrowserSession, readBrowserSession } from '../../identity/browser-sessions/contract.ts'
import { maxTimerMs } from '../../kernel/index.ts'
import type { TokenSource } from '../operation-caller.ts'
import type { OperationCaller } from '../operation-types.ts'
import type { AccountGuard } from './account-guard.ts'
import { SessionListeners, type SessionState } from './listeners.ts'
import { signedInElsewhere } from './session.ts'
import type { Storage } from './storage.ts'

/**
 * The session of a browser, whose cookie no script can read. The account is the one that signed in here, or that the page
 * found first. After another tab has signed in a different one, calls reject with CLIENT.SIGNED_IN_ELSEWHERE.
 */
export interface CookieSession {
  /**
   * The state that the client saw last: the account, its permissions, and when the session ends. Null before the first
   * `read` or sign-in. While a listener is registered, it follows other tabs and the end of the session.
   */
  readonly state: SessionState | null
  /** Asks the gateway. Does not prolong the session. Names the permissions of `workspaceId`. */
  read(options?: { workspaceId?: string }): Promise<SessionState>
  /**
   * Calls the listener after a sign-in and after the end of the session, in this tab or another one. Reload the page if
   * another tab has signed in a different account. Returns the function that removes the listener. The client's `close`
   * removes all.
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
  guard: AccountGuard
  /** Of the account in the storage. */
  key: string
  now(): number
  onSignedOut(): void
}

/** The gateway can end the session a little later than it said. */
const minDelayMs = 1_000

/** Before the gateway is asked again if it did not respond. */
const retryDelayMs = 15_000

export class CookieSessions implements CookieSession, TokenSource {
  state: SessionState | null = null
  private readonly parts: CookieSessionParts
  private readonly guard: AccountGuard
  private readonly listeners: SessionListeners
  /** Whether this client has seen the session that `guard` names. */
  private hasSession = false
  private workspace: { workspaceId?: string } = {}
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(parts: CookieSessionParts) {
    this.parts = parts
    this.guard = parts.guard
    this.listeners = new SessionListeners(parts.key, () => void this.update())
  }

  async read(options: { workspaceId?: string } = {}): Promise<SessionState> {
    this.workspace = options
    const session = await this.ask()
    if (await this.adopt(session)) {
      this.listeners.notify(session)
      this.listeners.announce()
    }
    return session
  }

  onChange(listener: (session: SessionState) => void): () => void {
    const remove = this.listeners.add(listener)
    if (this.state?.signedIn) this.schedule(this.remainingMs(this.state, this.parts.now()))
    return () => {
      remove()
      if (this.listeners.isEmpty) this.close()
    }
  }

  close(): void {
    clearTimeout(this.timer)
    this.listeners.close()
  }

  /** Returns null, because the browser sends the cookie. Rejects with CLIENT.SIGNED_IN_ELSEWHERE before the call. */
  async current(): Promise<null> {
    const stored = await this.parts.storage.getItem(this.parts.key)
    // A page that never called `read` also shows the account of its first call.
    this.guard.account ??= stored
    this.hasSession ||= stored !== null
    if (stored === this.guard.account) return null
    if (stored !== null) throw signedInElsewhere()
    // Another tab has signed out, or has not yet stored the account that it signed in.
    await this.read(this.workspace)
    return null
  }

  /** Called after a call was refused without a token. */
  async replace(): Promise<boolean> {
    if (await this.update()) this.listeners.announce()
    return false
  }

  /** Called after a sign-in in this client. */
  async started(): Promise<void> {
    this.guard.account = null
    // Other tabs must not rely on the previous account, even if the call below fails.
    await this.parts.storage.removeItem(this.parts.key)
    const session = await this.ask()
    await this.adopt(session)
    this.listeners.notify(session)
    this.listeners.announce()
  }

  /** Signs out. */
  async end(): Promise<void> {
    await this.current()
    await this.parts.caller().answer(this.parts.operations.endBrowserSession, {})
    this.guard.account = null
    this.hasSession = false
    await this.parts.storage.removeItem(this.parts.key)
    this.see({ signedIn: false }, null)
    this.listeners.notify({ signedIn: false })
    this.listeners.announce()
  }

  private async ask(): Promise<SessionState> {
    const { operations, caller } = this.parts
    const { data, timestamp } = await caller().answer(operations.readBrowserSession, this.workspace)
    return this.see(data, timestamp)
  }

  /** `at` is the time of the gateway, whose clock can differ. */
  private see(session: SessionState, at: number | null): SessionState {
    this.state = session
    clearTimeout(this.timer)
    if (session.signedIn && !this.listeners.isEmpty) this.schedule(this.remainingMs(session, at ?? this.parts.now()))
    return session
  }

  private remainingMs({ expiresAt = '', idleExpiresAt = '' }: SessionState, at: number): number {
    // A timer of NaN milliseconds would fire immediately, after each reply without an end.
    return Math.max(minDelayMs, Math.min(Date.parse(expiresAt), Date.parse(idleExpiresAt)) - at || retryDelayMs)
  }

  /** At its end, the gateway is asked whether another request has prolonged the session. */
  private schedule(delayMs: number): void {
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.update(true), Math.min(delayMs, maxTimerMs))
  }

  /** Returns whether the account's session has ended. */
  private async adopt(session: SessionState): Promise<boolean> {
    const account = session.accountBizId ?? null
    if (account === null) return this.forget()
    if (this.guard.account !== null && this.guard.account !== account) throw signedInElsewhere()
    await this.remember(account)
    return false
  }

  /**
   * Listeners also see the session of a different account, whose calls reject. Returns whether the account's session has
   * ended. An announcement must not lead to others, because each tab asks the gateway for each of them.
   */
  private async update(isAtEnd = false): Promise<boolean> {
    const before = this.state
    const session = await this.ask().catch(() => undefined)
    if (!session) {
      if (isAtEnd && !this.listeners.isEmpty) this.schedule(retryDelayMs)
      return false
    }
    const hasEnded = await this.adopt(session).catch(() => false)
    // A session that was prolonged has not changed.
    if (!isAtEnd || session.accountBizId !== before?.accountBizId) this.listeners.notify(session)
    return hasEnded
  }

  private async remember(account: string): Promise<void> {
    this.guard.account = account
    this.hasSession = true
    await this.parts.storage.setItem(this.parts.key, account)
  }

  private async forget(): Promise<boolean> {
    const { hasSession, guard } = this
    this.hasSession = false
    if (guard.account !== null) await this.parts.storage.removeItem(this.parts.key)
    guard.account = null
    if (hasSession) this.parts.onSignedOut()
    return hasSession
  }
}
