/* The operations of test/harness/parcels.yaml in JavaScript: test/e2e/four-ways.test.ts. */
import { domain, Refusal } from 'portico'
import { bizId, member, operation, z } from 'portico/contract'

const item = z.object({ name: z.string() })

const operations = {
  sendParcel: operation({
    id: 'parcels.send',
    method: 'POST',
    path: '/parcels',
    chains: ['consumer'],
    summary: 'Send a parcel',
    policy: { ...member, workspace: 'required', permission: 'parcel:send', rate: 'parcels', idempotent: true },
    body: z.strictObject({
      trick: z.string(),
      weight: z.int(),
      address: z.strictObject({ city: z.string() }).optional(),
      sizes: z.array(z.strictObject({ cm: z.number() })).optional(),
    }),
    reply: z.object({
      bizId,
      note: z.string(),
      weight: z.int(),
      sizes: z.array(z.object({ cm: z.number() })).optional(),
      inner: z.object({ items: z.array(item), first: item }),
    }),
    refuses: ['PARCEL.LOST'],
  }),
  findParcels: operation({
    id: 'parcels.find',
    method: 'GET',
    path: '/parcels',
    chains: ['consumer'],
    summary: 'Find parcels by size',
    policy: { ...member, workspace: 'required', permission: 'parcel:send' },
    query: z.strictObject({ above: z.coerce.number() }),
    body: 'none',
    reply: z.object({ above: z.number() }),
    refuses: [],
  }),
}

function nested(levels) {
  return levels === 0 ? '' : [nested(levels - 1)]
}

const replies = {
  undeclared: () => {
    throw new Refusal('STATE.CONFLICT')
  },
  lost: () => {
    throw new Refusal('PARCEL.LOST')
  },
  large: () => ({ note: 'x'.repeat(6_000_000) }),
  text: () => ({ weight: '7' }),
  fraction: () => ({ weight: 1.5 }),
  missing: () => ({ inner: {} }),
  deep: () => ({ extra: nested(1_000) }),
  inexact: () => ({ sizes: [{ cm: Number.POSITIVE_INFINITY }] }),
}

export default domain({
  name: 'parcels',
  summary: 'Parcels of a workspace.',
  operations,
  codes: { 'PARCEL.LOST': { status: 409 } },
  permissions: { workspace: { parcel: ['send'] } },
  rateGroups: { parcels: { account: { limit: 120, windowMs: 3_600_000 } } },
  locales: new URL('./locales/', import.meta.url),
  needs: ['ids', 'once'],
  create: ({ ids, once }) => ({
    handlers: {
      findParcels: async ({ query }) => query,
      sendParcel: (request) =>
        once(request, async () => {
          const { body } = request
          const extra = { fullPan: '4242', name: 'a' }
          return {
            bizId: ids.next(),
            note: '',
            weight: body.weight,
            sizes: body.sizes,
            inner: { pinHash: 'x', first: extra, items: [extra] },
            pinHash: 'x',
            ...replies[body.trick]?.(),
          }
        }),
    },
  }),
})
