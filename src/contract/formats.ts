import * as z from 'zod'
import { locales } from '../kernel/index.ts'
import { text } from './common.ts'

/* Texts of a known form, in requests. */

/** An opaque text that we once handed out: a session id, a token. */
export const opaque = (max: number) => z.string().min(1).max(max)

export const sessionId = opaque(128)

/** A code from a mail, an authenticator or the list of backup codes. */
export const oneTimeCode = z
  .string()
  .max(32)
  .trim()
  .min(6)
  .max(16)
  .regex(/^[0-9A-Za-z-]+$/)
  .meta({ examples: ['123456'] })

/** What a person gives as grounds. */
export const reason = text(256)

/** An IPv4 or IPv6 address or CIDR range. */
export const addressRange = z
  .string()
  .max(49)
  .pipe(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]))
  .meta({ description: 'An IPv4 or IPv6 address or CIDR range', examples: ['203.0.113.0/24'] })

/** A list in which nothing stands twice. */
export const uniqueList = <T extends z.ZodType<string>>(item: T, max: number) =>
  z
    .array(item)
    .max(max)
    .refine((items) => new Set(items).size === items.length, { message: 'the same entry twice' })
    .meta({ uniqueItems: true })

/** A zone's name as the database spells it. Node 24 has no Temporal, and Intl answers a zone's second name with its first. */
const spelled = (zone: string): string => {
  if (typeof Temporal !== 'undefined') return new Temporal.ZonedDateTime(0n, zone).timeZoneId
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions()
  return timeZone.toLowerCase() === zone.toLowerCase() ? timeZone : zone
}

/** A name is taken in any case, and whoever reads it back may not: one that is only spelled otherwise is refused. */
const isTimezone = (value: string): boolean => {
  try {
    return spelled(value) === value
  } catch {
    return false
  }
}

/** An IANA zone name, as the database writes it. */
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

/** A telephone number as people write it; empty for none. */
export const phone = z
  .string()
  .regex(/^(\+?\d[\d ().-]{3,30})?$/)
  .meta({ examples: ['+49 30 901820'] })

export const changesSomething = (fields: object): boolean => Object.values(fields).some((value) => value !== undefined)

/** An update whose fields are all optional: it has to change something. */
export const partialUpdate = <S extends z.ZodRawShape>(fields: S) =>
  z.strictObject(fields).refine(changesSomething).meta({ minProperties: 1 })
