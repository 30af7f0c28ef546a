import { config } from 'zod'

/*
 * Imported before the contract. zod compiles validators where it may, and finds out whether it may by trying, which a
 * page's strict content security policy reports as a violation; in a browser it is told not to try.
 */
if (typeof document !== 'undefined') config({ jitless: true })
