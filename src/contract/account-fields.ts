import * as z from 'zod'
import { canonicalCode, canonicalEmail, locales } from '../kernel/index.ts'

/** RFC 5321, 4.5.3.1. */
const mailable = /^[^@]{1,64}@[^@]{1,253}$/

/**
 * A Dot-string (RFC 5321), then at least two DNS labels (RFC 1035, 2.3.4), the last possibly in Punycode. Rejects
 * quoted local parts and address literals.
 */
export const dotString =
  /^(?:[\w!#$%&'*+/=?^`{|}~-]+\.)*[\w!#$%&'*+/=?^`{|}~-]+@(?:[A-Za-z\d](?:[A-Za-z\d-]{0,61}[A-Za-z\d])?\.)+[A-Za-z][A-Za-z\d-]{0,61}[A-Za-z\d]$/

const mailbox = z.email({ pattern: dotString }).max(320).regex(mailable)

/** Like `dotString`, with dots at any place of the local part. */
export const irregularDotString =
  /^[\w!#$%&'*+/=?^`{|}~.-]+@(?:[A-Za-z\d](?:[A-Za-z\d-]{0,61}[A-Za-z\d])?\.)+[A-Za-z][A-Za-z\d-]{0,61}[A-Za-z\d]$/

/** An e-mail address in a request, converted to its canonical form. */
export const email = z.string().max(320).transform(canonicalEmail).pipe(mailbox).meta({ format: 'email' })

export const accountMailbox = z.email({ pattern: irregularDotString }).max(320).regex(mailable)

/**
 * The address of a person who signs in or is invited. It can be irregular, as Japanese carriers assigned them: handlers
 * must refuse such an address unless `mail.carrierDomains` lists its domain.
 */
export const accountEmail = z.string().max(320).transform(canonicalEmail).pipe(accountMailbox).meta({ format: 'email' })

/** Length limits of a new password, measured by `passwordLength`. */
export const minPasswordLength = 8
export const maxPasswordLength = 256

/** Counts characters in NFKC, the form in which passwords are compared. */
export function passwordLength(password: string): number {
  return [...password.normalize('NFKC')].length
}

/** Limits the length first, so that no oversized text is normalized or hashed. */
export const password = z
  .string()
  .min(1)
  .max(4 * maxPasswordLength, { abort: true })
  .refine((value) => passwordLength(value) <= maxPasswordLength)
  .meta({ description: `At most ${maxPasswordLength} characters, in NFKC` })

/** Identity checks the rest of the password policy. */
export const newPassword = password
  .refine((value) => passwordLength(value) >= minPasswordLength)
  .meta({ description: `${minPasswordLength} to ${maxPasswordLength} characters, in NFKC; no common ones` })

/** A mailed code, an authenticator code or a backup code as people type it, converted to its canonical form. */
export const oneTimeCode = z
  .string()
  .max(32)
  .transform(canonicalCode)
  .pipe(z.string().regex(/^[0-9A-Z]{6,16}$/))
  .meta({ description: 'Ignores blanks, hyphens, case and the width of characters', examples: ['123456'] })

/** An IP address or a CIDR range. */
export const addressRange = z
  .string()
  .max(49)
  .pipe(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]))
  .meta({ description: 'An IPv4 or IPv6 address or CIDR range', examples: ['203.0.113.0/24'] })

/** An IANA time zone in its exact spelling. */
export const timezone = z
  .string()
  .max(64)
  .regex(/^[A-Z][\w+-]*(\/[A-Z][\w+-]*)*$/)
  .refine(isTimezone)
  .meta({ description: 'IANA zone name', examples: ['Europe/Berlin'] })

/** A language of Portico's texts. */
export const language = z.enum(locales).meta({ title: 'Language' })

/** A country code in a request. The port `isCountry` checks that it exists. */
export const country = z
  .string()
  .regex(/^[A-Z]{2}$/)
  .meta({ description: 'ISO 3166 alpha-2', examples: ['DE'] })

/** A telephone number as people write it, which can be empty. Services parse it with `parsePhone`. */
export const phone = z
  .string()
  .max(64)
  .transform((value) =>
    value
      .normalize('NFKC')
      .replace(/\p{Cf}/gu, '')
      .trim(),
  )
  .pipe(z.string().regex(/^([+(]{0,2}\d[\d ()./\u2010-\u2015\u2212\u30fc-]{3,38})?$/))
  .meta({
    description: 'International, or national in the country of the account. Replies contain it in E.164.',
    examples: ['+49 30 901820'],
  })

/** The number of suspended credentials by the name of the domain, such as `apiKeys`. */
export const suspendedCredentials = z.record(z.string(), z.int()).meta({
  description: 'Number of suspended credentials by domain',
  examples: [{ apiKeys: 2, invitations: 1, withdrawalChannels: 1 }],
})

/** Runtimes accept zone names in any case. Require the exact spelling for other programs that read the stored name. */
function isTimezone(value: string): boolean {
  try {
    return spellingOf(value) === value
  } catch {
    return false
  }
}

/** Node 24 has no Temporal, and Intl replaces an alias with the canonical name. */
function spellingOf(zone: string): string {
  if (typeof Temporal !== 'undefined') return new Temporal.ZonedDateTime(0n, zone).timeZoneId
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions()
  return timeZone.toLowerCase() === zone.toLowerCase() ? timeZone : zone
}
