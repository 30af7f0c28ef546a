import { randomUUID } from 'node:crypto'

/** Each call returns a different reference, unless one is specified. */
export const confirmation = (externalReference: string = randomUUID()) => ({ externalReference })
