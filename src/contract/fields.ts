import * as z from 'zod'
import {
  accountStatus,
  type CodedFamily,
  invalid,
  isCurrency,
  type Money,
  type Operation,
  type Portal,
  parseInstant,
  parseMoney,
  workspaceKind,
  workspaceStatus,
} from '../kernel/index.ts'

/*
 * Fields of requests and replies. Requests are strict and reject unknown fields. Replies drop undeclared fields, so
 * that none leaves the gateway.
 */

/** Control characters except line breaks and tabs. */
const control = '\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f'
const printable = `^[^${control}]*$`
const printableText = new RegExp(printable)
/** Uses no Unicode classes, because OpenAPI generators may not support them. */
const nonBlank = `^\\s*[^${control}\\s][^${control}]*$`

/**
 * Blanks are not visible, nor are characters that Unicode ignores in display, such as zero-width spaces and fillers.
 */
const visible = /[^\s\p{Default_Ignorable_Code_Point}\u2800]/u

/** Text in a request: `min` to `max` characters, trimmed and in NFC. Text without a visible character is rejected. */
export function text(max: number, min = 1, clean = (value: string): string => value) {
  return z
    .string()
    .max(max * 2)
    .normalize('NFC')
    .overwrite(clean)
    .trim()
    .min(min)
    .max(max)
    .refine((value) => value.isWellFormed() && printableText.test(value) && (value === '' || visible.test(value)))
    .meta({ pattern: min > 0 ? nonBlank : printable })
}

/** An optional `text` or `line` with `min` 0. Forms send an empty text for none, and programs null. */
export function orNone<T extends z.ZodType<string, string>>(schema: T) {
  return schema.nullish().transform((value) => value || undefined)
}

const lineControl = '\\x00-\\x1f\\x7f-\\x9f'
const printableLine = new RegExp(`^[^${lineControl}]*$`)

/** Joiners, direction marks and variation selectors, which some scripts and emoji need. */
const marks = '[\\u061c\\u200c-\\u200f\\ufe00-\\ufe0f]'
const withoutMarks = '\\p{Script=Latin}\\p{Script=Greek}\\p{Script=Cyrillic}'
/** Characters that are invisible or change the direction of text, so that different names look the same. */
const deceptive = new RegExp(
  `[[\\p{Cf}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]--${marks}]|[${withoutMarks}\\p{Zs}]${marks}|[\\u061c\\u200c-\\u200f][${withoutMarks}]`,
  'v',
)

/** Text on one line, such as a name: no line breaks, no tabs and no deceptive characters. */
export function line(max: number, min = 1, clean?: (value: string) => string) {
  return text(max, min, clean)
    .refine((value) => printableLine.test(value) && !deceptive.test(value))
    .meta({ pattern: min > 0 ? `^\\s*[^${lineControl}\\s][^${lineControl}]*$` : `^[^${lineControl}]*$` })
}

/** A `line` that web pages copy with invisible characters, such as a reference. They are removed. */
export function pastedLine(max: number, min = 1) {
  return line(max, min, (value) => value.replaceAll(/[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu, ''))
}

/** A reason for a decision. */
export const reason = text(256)

/** A member's reason: required, but can be empty. */
export const memberReason = text(256, 0)

/** A portal in a request. The configuration can declare portals, so handlers use `portalIn`. OpenAPI lists them. */
export const portalCode = z
  .string()
  .max(32)
  .regex(/^[A-Z][A-Z0-9_]*$/)
  .meta({ title: 'accountPortal.code' })

/** Throws VALIDATION.INVALID_PARAMETER unless the deployment has the portal. */
export function portalIn(portals: readonly Portal[], text: string, field = 'accountPortal'): Portal {
  const found = portals.find((portal) => portal === text)
  if (found === undefined) throw invalid(field, 'the configuration has no such portal')
  return found
}

/** A portal in a stored payload. The configuration may no longer have it. */
export const portalName = z.string().transform((name): Portal => name)

/** A text that only the gateway interprets, such as a token. */
export function opaque(max: number) {
  return z.string().min(1).max(max)
}

export const sessionId = opaque(128)

/** A UUID in a request, converted to lower case as in the audit log. */
export const id = z
  .uuid()
  .toLowerCase()
  .meta({ description: 'bizId', examples: ['01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'] })

export function pathParameterSchema({ params }: Operation, name: string): z.ZodType<string> {
  return params?.[name] ?? id
}

/** An id in a reply. Only described as a UUID, because a check of each id would cost more than the rest of a reply. */
export const bizId = z.string().meta({ format: 'uuid' })

/** An ISO 8601 time in UTC, in replies. */
export const timestamp = z.iso.datetime().meta({ description: 'ISO 8601 in UTC, ending with `Z`' })

export const zoneDescription = 'ISO 8601 with a time zone: `Z`, or an offset such as `+02:00`'

/** An ISO 8601 time with a zone, in requests. */
export const instant = z
  .string()
  .max(64)
  .transform(withSeconds)
  .pipe(z.iso.datetime({ offset: true }))
  .refine((value) => parseInstant(value) !== undefined)
  .meta({ description: zoneDescription, format: 'date-time' })

/** A family's codes in requests. OpenAPI recognizes the schema by its title. */
export function codeOf<C extends string>(family: CodedFamily<C>) {
  return z.enum(family.codes).meta({ title: `${family.name}.code` })
}

/**
 * A coded value in replies. OpenAPI recognizes the schema by its title. The brand gives the typed client the codes. It
 * checks nothing, because a newer gateway may send new codes.
 */
export function coded<C extends string>(family: Pick<CodedFamily<C>, 'name' | 'codes'>) {
  return z
    .object({ code: z.string().brand<C>(), value: z.int(), label: z.string(), description: z.string() })
    .meta({ title: family.name })
}

export const currency = z
  .string()
  .regex(/^[A-Z0-9]{3,10}$/)
  .refine(isCurrency)
  .meta({ description: 'ISO 4217 or asset code', examples: ['USD'] })

/** A positive decimal string in a request, without sign, exponent or leading zeros. `withMoney` checks its scale. */
export const amount = z
  .string()
  .max(40)
  .regex(/^(0|[1-9]\d*)(\.\d+)?$/)
  .refine((value) => /[1-9]/.test(value), { params: { reason: 'too_small' } })
  .meta({
    pattern: '^([1-9]\\d*(\\.\\d+)?|0\\.0*[1-9]\\d*)$',
    description: 'At most as many decimal places as the currency has, and at most 30 digits including all of them',
    examples: ['12.50'],
  })

/** A decimal string in a reply. */
export const decimal = z.string()

/**
 * A request body with an `amount`, which handlers get as `Money`. Refuses the field `amount` if it is zero or has more
 * decimal places than the currency that `currencyOf` returns. The type of the request stays a decimal string.
 */
export function withMoney<Body extends { amount: string }, Request>(
  schema: z.ZodType<Body, Request>,
  currencyOf: (body: NoInfer<Body>) => string,
) {
  return schema.transform((body, context) => {
    const { amount: text, ...others } = body
    const parsed = parsePositive(text, currencyOf(body))
    if (!parsed) {
      context.addIssue({ code: 'custom', path: ['amount'] })
      return z.NEVER
    }
    // Its JSON is the text of the request, so that hashes, step-ups and services get what the client sent.
    const amount: Money = Object.defineProperty(parsed, 'toJSON', { value: () => text })
    return { ...others, amount }
  })
}

/** A list without duplicates. */
export function uniqueList<T extends z.ZodType<string>>(item: T, max: number) {
  return z
    .array(item)
    .max(max)
    .refine((items) => new Set(items).size === items.length, { message: 'the same entry twice' })
    .meta({ uniqueItems: true })
}

/** Whether at least one field is set. For partial updates with further required fields. */
export function changesSomething(fields: object): boolean {
  return Object.values(fields).some((value) => value !== undefined)
}

/** An update with optional fields, of which at least one must be set. */
export function partialUpdate<S extends z.ZodRawShape>(fields: S) {
  return z.strictObject(fields).refine(changesSomething).meta({ minProperties: 1 })
}

/** A reply without data. */
export const nothing = z.null()

/**
 * Returns the `Money` of an amount whose currency the request does not contain, such as that of a wallet. Throws
 * VALIDATION.INVALID_PARAMETER for `field` if it has more decimal places than the currency. See `withMoney`.
 */
export function moneyOf(value: string, currencyCode: string, field = 'amount'): Money {
  const parsed = parsePositive(value, currencyCode)
  if (!parsed) throw invalid(field)
  return parsed
}

/** Fields of an order in a reply: `toOrderView` returns them and the status history. */
export const orderFields = { bizId, orderNo: z.string(), version: z.int(), createdAt: timestamp, updatedAt: timestamp }

/** The statuses of an order in a reply, oldest first. */
export function statusHistory<C extends string>(family: CodedFamily<C>) {
  return z.array(
    z.object({ status: coded(family), at: timestamp, actorBizId: bizId.nullable(), reason: z.string().nullable() }),
  )
}

/** Fields of a workspace in an operator's list: `toWorkspaceKindView` returns them. */
export const workspaceFields = { workspaceKind: coded(workspaceKind) }

/** `creatorStatus` is the status of the creator's account, and null if the system created the order. */
export const operatorOrderFields = {
  ...workspaceFields,
  workspaceStatus: coded(workspaceStatus),
  creatorStatus: coded(accountStatus).nullable(),
}

/**
 * Filters of lists of orders by the number and the references that people know. They match the whole text. A list
 * has the filters of the fields that its orders have.
 */
export const orderNoFilter = {
  orderNo: line(64)
    .overwrite((text) => text.toUpperCase())
    .optional(),
}
export const clientReferenceFilter = { clientReference: line(64).optional() }
export const externalReferenceFilter = { externalReference: pastedLine(128).optional() }

/** Filters of an operator's list over all workspaces. */
export const workspaceFilters = { workspaceId: id.optional(), workspaceKind: codeOf(workspaceKind).optional() }

/** RFC 3339 requires seconds, but ISO 8601 and `datetime-local` inputs do not. */
function withSeconds(value: string): string {
  return value.replace(/T\d\d:\d\d(?=Z|[+-])/, '$&:00')
}

function parsePositive(value: string, currencyCode: string): Money | undefined {
  const parsed = isCurrency(currencyCode) ? parseMoney(value, currencyCode) : undefined
  return parsed && parsed.minor > 0n ? parsed : undefined
}

/** A URL that works once. */
export const Link = z.object({
  url: z.string().meta({ description: 'A path with its query, for the origin of the gateway.' }),
  expiresIn: z.int().meta({ description: 'Seconds.' }),
})
export type Link = z.output<typeof Link>
