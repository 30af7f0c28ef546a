export { createSession, type Session } from './session.ts'
export { memoryStorage, type Storage, withMemoryFallback } from './storage.ts'
export { createTabLock, readUntilChanged, type TabLock } from './tab-lock.ts'
export { createTokenStore, isHeaderValue, type TokenPair, type Tokens } from './tokens.ts'
