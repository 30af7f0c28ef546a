import { hash } from 'node:crypto'

/** SHA-256 of a canonical purpose in hex. */
export const digestOfPurpose = (canonical: string): string => hash('sha256', canonical)
