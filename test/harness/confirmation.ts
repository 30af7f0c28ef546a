import { randomUUID } from 'node:crypto'

/** Each call returns a different reference, unless one is specified. */
export function confirmation(externalReference: string = randomUUID()) {
  return { externalReference }
}
