export { type Lock, lockFor } from './lock.ts'
export { createSession, type Session } from './session.ts'
export { memoryStorage, type Storage } from './storage.ts'
export { createTokenStore, type TokenPair, type Tokens } from './tokens.ts'
