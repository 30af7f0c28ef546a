import * as z from 'zod'
import {
  type CodedFamily,
  invalid,
  isCurrency,
  type Money,
  type Operation,
  parseInstant,
  parseMoney,
  workspaceKind,
} from '../kernel/index.ts'

/*
 * Fields of requests and replies. Requests are strict objects that reject unknown fields; replies are plain objects, so a
 * field that the contract does not declare never leaves the gateway.
 */

/** Control characters other than line breaks and tabs. */
const control = '\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f'
const printable = `^[^${control}]*$`
const printableText = new RegExp(printable)
/**
 * Matches a text of printable characters with at least one that is not blank. Uses no Unicode classes, because OpenAPI
 * generators may not support them.
 */
const nonBlank = `^[^${control}]*[^${control}\\s][^${control}]*$`

/**
 * Matches a visible character: no blank, and none that Unicode ignores in display, such as zero-width spaces and
 * fillers.
 */
const visible = /[^\s\p{Default_Ignorable_Code_Point}\u2800]/u

/** Text in a request of `min` to `max` characters, trimmed and in NFC. Text without a visible character is rejected. */
export const text = (max: number, min = 1) =>
  z
    .string()
    .max(max * 2)
    .normalize('NFC')
    .trim()
    .min(min)
    .max(max)
    .refine((value) => value.isWellFormed() && printableText.test(value) && (value === '' || visible.test(value)))
    .meta({ pattern: min > 0 ? nonBlank : printable })

/** A person's reason for a decision. */
export const reason = text(256)

/** The reason that a person gives for a decision. */
export const opaque = (max: number) => z.string().min(1).max(max)

export const sessionId = opaque(128)

/** A UUID in a request, in lower case as in the audit log. Whether it exists is checked later. */
export const id = z
  .uuid()
  .toLowerCase()
  .meta({ description: 'bizId', examples: ['01933b6e-7c1a-7e0a-8f35-4c2d1f5b9a10'] })

/** Returns the schema of a path parameter: an id, unless the operation declares another one. */
export const pathParameterSchema = ({ params }: Operation, name: string): z.ZodType<string> => params?.[name] ?? id

/** An id in a reply. */
export const bizId = z.string()

/** An ISO 8601 time with a zone, in requests. */
export const timestamp = z.iso.datetime().meta({ description: 'ISO 8601 in UTC, ending with `Z`' })

export const zoneDescription = 'ISO 8601 with a time zone: `Z`, or an offset such as `+02:00`'

/** ISO 8601 with a zone, in requests. */
export const instant = z.iso
  .datetime({ offset: true })
  .refine((value) => parseInstant(value) !== undefined)
  .meta({ description: zoneDescription })

/** Returns the schema of a family's codes in requests. */
export const codeOf = <C extends string>(family: CodedFamily<C>) => z.enum(family.codes)

/** Returns the schema of a coded value in replies. OpenAPI recognizes it by its title. */
export const coded = (family: CodedFamily) =>
  z
    .object({ code: z.string(), value: z.int(), label: z.string(), description: z.string() })
    .meta({ title: family.name })

export const currency = z
  .string()
  .regex(/^[A-Z0-9]{3,10}$/)
  .refine(isCurrency)
  .meta({ description: 'ISO 4217 or asset code', examples: ['USD'] })

/** A positive decimal string in a request, without sign, exponent or leading zeros. `fitsCurrency` checks its scale. */
export const amount = z
  .string()
  .max(40)
  .regex(/^([1-9]\d*(\.\d+)?|0\.\d*[1-9]\d*)$/)
  .meta({
    description: 'At most as many decimal places as the currency has, and at most 30 digits including all of them',
    examples: ['12.50'],
  })

/** A decimal string in a reply. */
export const decimal = z.string()

/** Whether an amount is positive and has no more decimal places than its currency. */
export const fitsCurrency = (value: string, currencyCode: string): boolean =>
  isCurrency(currencyCode) && (parseMoney(value, currencyCode)?.minor ?? 0n) > 0n

/** Returns a list without duplicates. */
export const uniqueList = <T extends z.ZodType<string>>(item: T, max: number) =>
  z
    .array(item)
    .max(max)
    .refine((items) => new Set(items).size === items.length, { message: 'the same entry twice' })
    .meta({ uniqueItems: true })

/** Whether an update sets at least one field. */
export const changesSomething = (fields: object): boolean => Object.values(fields).some((value) => value !== undefined)

/** Returns the schema of an update with optional fields. At least one of them must be set. */
export const partialUpdate = <S extends z.ZodRawShape>(fields: S) =>
  z.strictObject(fields).refine(changesSomething).meta({ minProperties: 1 })

/** A reply without data. */
export const nothing = z.null()

/**
 * Returns the `Money` of a request's amount. The currency comes from the same body or from a wallet. Throws
 * VALIDATION.INVALID_PARAMETER for `amount` if the currency does not have that many decimal places.
 */
export const moneyOf = (value: string, currencyCode: string): Money => {
  const parsed = isCurrency(currencyCode) ? parseMoney(value, currencyCode) : undefined
  if (!parsed || parsed.minor <= 0n) throw invalid('amount')
  return parsed
}

/** The fields that every order has. */
export const orderFields = {
  bizId,
  orderNo: z.string(),
  version: z.int(),
  createdAt: timestamp,
  updatedAt: timestamp,
}

/** Returns the status changes of an order. */
export const statusHistory = (family: CodedFamily) =>
  z.array(
    z.object({
      status: coded(family),
      at: timestamp,
      actorBizId: z.string().nullable(),
      reason: z.string().nullable(),
    }),
  )

/** Additional order fields and list filters for operators, whose lists contain the orders of all workspaces. */
export const workspaceFields = { workspaceKind: coded(workspaceKind) }
export const workspaceFilters = { workspaceId: id.optional(), workspaceKind: codeOf(workspaceKind).optional() }
