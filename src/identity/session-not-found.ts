import { Refusal } from '../kernel/index.ts'

/** A login, a registration, a token or its family that is unknown, over or spent: one answer for all of it. */
export const sessionNotFound = (internal: string): Refusal => new Refusal('AUTH.SESSION_NOT_FOUND', { internal })
