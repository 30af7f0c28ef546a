import * as z from 'zod'
import { canonicalEmail, locales } from '../kernel/index.ts'

/* Fields that describe people: how they sign in, where they are, how to reach them. */

/** Length limits around the @ (RFC 5321, 4.5.3.1). */
const mailable = /^[^@]{1,64}@[^@]{1,253}$/

/**
 * A Dot-string (RFC 5321) before the @, and a name of at least two DNS labels (RFC 1035, 2.3.4) after it. The last
 * label can be Punycode. Quoted local parts and address literals are rejected.
 */
const dotString =
  /^(?:[\w!#$%&'*+/=?^`{|}~-]+\.)*[\w!#$%&'*+/=?^`{|}~-]+@(?:[A-Za-z\d](?:[A-Za-z\d-]{0,61}[A-Za-z\d])?\.)+[A-Za-z][A-Za-z\d-]{0,61}[A-Za-z\d]$/

/** An email address as typed. */
export const mailbox = z.email({ pattern: dotString }).max(320).regex(mailable)

/** An email address in canonical form. */
export const email = z.string().max(320).transform(canonicalEmail).pipe(mailbox).meta({ format: 'email' })

/** Length limits of a new password, as counted by `passwordLength`. */
export const minPasswordLength = 8
export const maxPasswordLength = 256

/** Returns the number of characters in NFKC, the form in which passwords are compared. */
export const passwordLength = (password: string): number => [...password.normalize('NFKC')].length

/** A password. Its raw length is limited first, so that no oversized text is normalized or hashed. */
export const password = z
  .string()
  .min(1)
  .max(4 * maxPasswordLength, { abort: true })
  .refine((value) => passwordLength(value) <= maxPasswordLength)
  .meta({ description: `At most ${maxPasswordLength} characters, in NFKC` })

/** A new password. Identity checks the rest of the password policy. */
export const newPassword = password
  .refine((value) => passwordLength(value) >= minPasswordLength)
  .meta({ description: `${minPasswordLength} to ${maxPasswordLength} characters, in NFKC; no common ones` })

/** A code from a mail, an authenticator app or the list of backup codes. */
export const oneTimeCode = z
  .string()
  .max(32)
  .trim()
  .min(6)
  .max(16)
  .regex(/^[0-9A-Za-z-]+$/)
  .meta({ examples: ['123456'] })

/** An IPv4 or IPv6 address or CIDR range. */
export const addressRange = z
  .string()
  .max(49)
  .pipe(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]))
  .meta({ description: 'An IPv4 or IPv6 address or CIDR range', examples: ['203.0.113.0/24'] })

/**
 * Returns a time zone's name in the database's spelling. Node 24 has no Temporal, and Intl replaces aliases by the
 * canonical name.
 */
const spellingOf = (zone: string): string => {
  if (typeof Temporal !== 'undefined') return new Temporal.ZonedDateTime(0n, zone).timeZoneId
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions()
  return timeZone.toLowerCase() === zone.toLowerCase() ? timeZone : zone
}

/**
 * Runtimes accept zone names in any case, but other programs that read the stored name may not. So require the exact
 * spelling.
 */
const isTimezone = (value: string): boolean => {
  try {
    return spellingOf(value) === value
  } catch {
    return false
  }
}

/** An IANA time zone name in the database's spelling. */
export const timezone = z
  .string()
  .max(64)
  .regex(/^[A-Z][\w+-]*(\/[A-Z][\w+-]*)*$/)
  .refine(isTimezone)
  .meta({ description: 'IANA zone name', examples: ['Europe/Berlin'] })

export const language = z.enum(locales)

export const country = z
  .string()
  .regex(/^[A-Z]{2}$/)
  .meta({ description: 'ISO 3166 alpha-2', examples: ['DE'] })

/** A telephone number as typed; may be empty. */
export const phone = z
  .string()
  .regex(/^(\+?\d[\d ().-]{3,30})?$/)
  .meta({ examples: ['+49 30 901820'] })
