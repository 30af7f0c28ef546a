import * as z from 'zod'
import {
  type CodedFamily,
  canonicalEmail,
  invalid,
  isCurrency,
  type Money,
  maxPasswordLength,
  minPasswordLength,
  parseInstant,
  parseMoney,
  passwordLength,
  workspaceKind,
} from '../kernel/index.ts'

/*
 * The pieces that the resources' schemas are made of. Requests are strict objects (an unknown field is refused);
 * replies are plain objects (a field that the contract does not name never leaves the gateway).
 */

/** Control characters other than line breaks and tabs never belong in a text; lone surrogates are no text at all. */
const control = '\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f'
const printable = `^[^${control}]*$`
const printableText = new RegExp(printable)
/** The same with something beside blanks, as far as the document can say it: those who generate from it may lack Unicode's classes. */
const printed = `^[^${control}]*[^${control}\\s][^${control}]*$`

/** What is to be seen of a text: more than blanks and what Unicode has ignored in display (zero widths, fillers). */
const visible = /[^\s\p{Default_Ignorable_Code_Point}\u2800]/u

/**
 * A text of a request, trimmed and in NFC, where an accent is written in one way only: 1 to `max` characters. One that only
 * seems to be empty is refused: a name that nobody sees, or grounds that give none.
 */
export const text = (max: number, min = 1) =>
  z
    .string()
    .max(max * 2)
    .normalize('NFC')
    .trim()
    .min(min)
    .max(max)
    .refine((value) => value.isWellFormed() && printableText.test(value) && (value === '' || visible.test(value)))
    .meta({ pattern: min > 0 ? printed : printable })

/**
 * An id in a request, in the one spelling that it has everywhere else: the audit log keeps it as text. Anything but a
 * UUID is invalid; whether it exists is the store's to say.
 */
export const id = z
  .uuid()
  .toLowerCase()
  .meta({ description: 'bizId', examples: ['01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'] })

/** An id in a reply. */
export const bizId = z.string()

/** ISO 8601 UTC, in replies. */
export const timestamp = z.iso.datetime().meta({ description: 'UTC: it ends with `Z`' })

const zone = 'With its zone: `Z`, or an offset such as `+02:00`'

/** ISO 8601 with a zone, in requests. */
export const instant = z.iso
  .datetime({ offset: true })
  .refine((value) => parseInstant(value) !== undefined)
  .meta({ description: zone })

/** One of a family's codes, in requests. */
export const codeOf = <C extends string>(family: CodedFamily<C>) => z.enum(family.codes)

/** A coded value, in replies (interface.md 2.2). */
export const coded = (family: CodedFamily) =>
  z
    .object({ code: z.string(), value: z.int(), label: z.string(), description: z.string() })
    .meta({ title: family.name })

export const currency = z
  .string()
  .regex(/^[A-Z0-9]{3,10}$/)
  .refine(isCurrency)
  .meta({ description: 'ISO 4217 or asset code', examples: ['USD'] })

/** A decimal string in a request: more than nothing, no sign, no exponent, no leading zeros. Its scale is checked with the currency. */
export const amount = z
  .string()
  .max(40)
  .regex(/^([1-9]\d*(\.\d+)?|0\.\d*[1-9]\d*)$/)
  .meta({
    description: 'Of no more decimal places than its currency has; with all of these, of 30 digits at most',
    examples: ['12.50'],
  })

/** A decimal string in a reply. */
export const decimal = z.string()

/**
 * The `Money` of a request's amount. The currency comes from the same body or from a wallet. Throws
 * VALIDATION.INVALID_PARAMETER for `amount` if the currency does not have that many decimal places.
 */
export const moneyOf = (value: string, currencyCode: string): Money => {
  const parsed = isCurrency(currencyCode) ? parseMoney(value, currencyCode) : undefined
  if (!parsed || parsed.minor <= 0n) throw invalid('amount')
  return parsed
}

/** Whether an amount is above zero and fits its currency's decimal places. */
export const fitsCurrency = (value: string, currencyCode: string): boolean =>
  isCurrency(currencyCode) && (parseMoney(value, currencyCode)?.minor ?? 0n) > 0n

/** So long may what stands before the @ and after it be (RFC 5321, 4.5.3.1): no mail goes to a longer address. */
const mailable = /^[^@]{1,64}@[^@]{1,253}$/

/**
 * RFC 5321's Dot-string before the @, and a name of at least two labels after it, the last of which may be written in
 * Punycode; each label is one that DNS can hold (RFC 1035, 2.3.4). Neither quoted forms nor an address in brackets: nobody signs in by them.
 */
const dotString =
  /^(?:[\w!#$%&'*+/=?^`{|}~-]+\.)*[\w!#$%&'*+/=?^`{|}~-]+@(?:[A-Za-z\d](?:[A-Za-z\d-]{0,61}[A-Za-z\d])?\.)+[A-Za-z][A-Za-z\d-]{0,61}[A-Za-z\d]$/

/** An address as it was typed, that mail can be sent to. */
export const mailbox = z.email({ pattern: dotString }).max(320).regex(mailable)

export const email = z.string().max(320).transform(canonicalEmail).pipe(mailbox).meta({ format: 'email' })

/** Capped here, before any hashing sees it: as it came, since it may be written in more units than it has characters. */
export const password = z
  .string()
  .min(1)
  .max(4 * maxPasswordLength, { abort: true })
  .refine((value) => passwordLength(value) <= maxPasswordLength)
  .meta({ description: `At most ${maxPasswordLength} characters, in NFKC` })

/** One that is to be set: what the rule asks beside its length, identity asks of it. */
export const newPassword = password
  .refine((value) => passwordLength(value) >= minPasswordLength)
  .meta({ description: `${minPasswordLength} to ${maxPasswordLength} characters, in NFKC; no common ones` })

/** A query parameter that counts. */
const count = (min: number, max: number, initial: number) =>
  z
    .string()
    .regex(/^\d{1,7}$/)
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .default(initial)

/** Both ends, either of which may be left open. */
export const interval = {
  startTime: instant.meta({ description: `The first instant that counts. ${zone}` }).optional(),
  endTime: instant.meta({ description: `The last instant that counts. ${zone}` }).optional(),
}

const Interval = z.object({ startTime: z.string().optional(), endTime: z.string().optional() })
/** Whether an interval that has both ends runs forward. */
export const isForward = (query: unknown): boolean => {
  const { startTime, endTime } = Interval.parse(query)
  return !startTime || !endTime || Date.parse(startTime) <= Date.parse(endTime)
}

/** The parameters of every list, beside its own filters: completions.md, Conventions. */
export const listQuery = <const S extends readonly [string, ...string[]], F extends z.ZodRawShape>(
  sortable: S,
  filters: F,
) =>
  z
    .strictObject({
      currentPage: count(1, 1_000_000, 1),
      pageSize: count(1, 100, 20),
      sortBy: z.enum(sortable).default(sortable[0]),
      sortOrder: z.enum(['asc', 'desc']).default('desc'),
      ...interval,
      ...filters,
    })
    .refine(isForward, { path: ['endTime'], message: 'endTime is before startTime' })

const pagination = z.object({
  totalPages: z.int(),
  totalRecords: z.int(),
  currentPage: z.int(),
  pageSize: z.int(),
  hasNext: z.boolean(),
  empty: z.boolean(),
  paginated: z.boolean(),
})

/** A paged result (interface.md 2.3). */
export const page = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), pagination })

/** What every order carries: completions.md, Conventions. */
export const orderFields = {
  bizId,
  orderNo: z.string(),
  version: z.int(),
  createdAt: timestamp,
  updatedAt: timestamp,
}

export const statusHistory = (family: CodedFamily) =>
  z.array(
    z.object({
      status: coded(family),
      at: timestamp,
      actorBizId: z.string().nullable(),
      reason: z.string().nullable(),
    }),
  )

/** What operators see of each order beside its own fields and filter by: sandboxes wait in the same queues as LIVE workspaces. */
export const workspaceFields = { workspaceKind: coded(workspaceKind) }
export const workspaceFilters = { workspaceId: id.optional(), workspaceKind: codeOf(workspaceKind).optional() }

export const nothing = z.null()
