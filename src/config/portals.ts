import { hash } from 'node:crypto'
import { z } from 'zod'
import { type Portal, type RateGroup, rateGroups } from '../kernel/index.ts'
import { links } from './identity.ts'
import { cidr, coverInternet, lifetimeMs } from './values.ts'

/** The digest of an empty text is not allowed, because it would accept requests without an access code. */
const codeDigest = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'a SHA-256 in lower-case hex')
  .refine((hex) => hex !== hash('sha256', ''), 'not the SHA-256 of an empty text')

/** A fixed-window limit. */
const limitRule = z.strictObject({
  limit: z.int().min(1).describe('Maximum number of requests per window. Further requests get 429.'),
  windowMs: lifetimeMs(1_000).describe('Length of the window in milliseconds.'),
})
const groupRules = z.strictObject({
  address: limitRule.optional().describe('Limit per client address.'),
  account: limitRule
    .optional()
    .describe(
      'Limit per account. All of its sessions share one counter, and all of its API keys share another one. In `mfaSend` and `forgot`, it limits the mails to one account. It has no effect in `registration`, `channelOpen` and `refresh`, which run before sign-in.',
    ),
  network: limitRule
    .optional()
    .describe('Limit per network: an IPv4 /24 or an IPv6 /48. Only requests that `address` allows are counted.'),
  total: limitRule
    .optional()
    .describe(
      'Limit for all clients of one portal together. Only requests that `address` and `network` allow are counted.',
    ),
})

const anyAddress = limitRule.describe(
  'Limit per client address over all operations. Unknown paths and wrong access codes are counted, too.',
)

const portal = z.strictObject({
  accessCodes: z
    .array(codeDigest)
    .min(1)
    .describe(
      'SHA-256 digests of the valid access codes, in lower-case hex. To replace a code, temporarily configure both codes.',
    ),
  edge: z.strictObject({
    kind: z
      .enum(['cloudflare', 'direct'])
      .describe(
        'How the client address is determined. `cloudflare` requires the CF headers. `direct` uses X-Forwarded-For, or the address of the socket.',
      ),
    trustedProxies: z
      .array(cidr)
      .refine((ranges) => !coverInternet(ranges), 'ranges that do not cover the whole internet')
      .describe(
        'Address ranges of the proxies whose edge and forwarded headers are trusted. Such headers from other peers are ignored.',
      ),
  }),
  selfRegistration: z
    .enum(['closed', 'open', 'approval'])
    .describe(
      'How registration works. `closed` rejects it, `open` creates the account immediately, and `approval` waits for an operator. The setting has no effect on SYSTEM, which has no registration.',
    ),
  limits: z
    .strictObject({
      address: anyAddress.optional(),
      groups: z
        .partialRecord(z.enum(rateGroups), groupRules)
        .optional()
        .describe('Limits per operation group, as in `limits.groups`.'),
    })
    .optional()
    .describe('Limits of this portal. Each one replaces the same limit in `limits`.'),
  channelMandatory: z
    .array(z.enum(rateGroups))
    .describe(
      'Operation groups whose request bodies must be encrypted by the secure channel. `/openapi.json` lists the group of each operation.',
    ),
  compatibility: z
    .strictObject({
      observedErrors: z
        .boolean()
        .describe(
          'Whether two kinds of invalid requests get the 500 that the interface documents (`true`), or 400 (`false`).',
        ),
    })
    .describe('Deviations from the usual status codes that the interface documents.'),
  links: links,
})

export const portalSettings = z
  .strictObject({ CONSUMER: portal, SYSTEM: portal })
  .refine(
    ({ CONSUMER, SYSTEM }) => !CONSUMER.accessCodes.some((code) => SYSTEM.accessCodes.includes(code)),
    'access codes that differ between the portals',
  )

export const limitSettings = z.strictObject({
  scale: z
    .number()
    .positive()
    .describe('Factor by which every limit is multiplied, for load tests. In production, it is at most 1.'),
  address: anyAddress,
  groups: z
    .record(z.enum(rateGroups), groupRules)
    .describe('Limits per operation group. A group without an `account` limit uses that of `general`.'),
  ipv6Prefix: z.int().min(32).max(64).describe('Length in bits of the IPv6 prefix that counts as one client.'),
})

export type PortalConfiguration = z.output<typeof portal>
export type LimitRule = z.output<typeof limitRule>
type GroupRules = z.output<typeof groupRules>

/** The limits that apply at one portal. */
export interface PortalLimits {
  /** The limit per client address over all operations. */
  address: LimitRule
  /** Whether the rule belongs to this portal and is therefore counted separately. */
  isAddressOwn: boolean
  groups: ReadonlyMap<RateGroup, GroupRules>
}

/**
 * Returns the limits of a portal: its own rules, or else those of `limits`. Without a portal, returns those of
 * `limits`.
 */
export const limitsOf = (
  { limits, portals }: { limits: z.output<typeof limitSettings>; portals: z.output<typeof portalSettings> },
  portal: Portal | null,
): PortalLimits => {
  const own = portal === null ? undefined : portals[portal].limits
  const rules = (group: RateGroup): GroupRules => ({ ...limits.groups[group], ...own?.groups?.[group] })
  return {
    address: own?.address ?? limits.address,
    isAddressOwn: own?.address !== undefined,
    groups: new Map(rateGroups.map((group) => [group, rules(group)])),
  }
}
