/*
 * A client's sign-in: the tokens in their storage, their renewal across browser tabs, and the client hash that they are
 * bound to. Start reading with `session.ts`.
 */
export { createSession, type Session } from './session.ts'
export { memoryStorage, type Storage, withMemoryFallback } from './storage.ts'
export { createTabLock, readUntilChanged } from './tab-lock.ts'
export { createTokenStore, type TokenPair, type Tokens } from './tokens.ts'
