import { hash } from 'node:crypto'

/** SHA-256 of a canonical purpose in hex. */
export function digestOfPurpose(canonical: string): string {
  return hash('sha256', canonical)
}
