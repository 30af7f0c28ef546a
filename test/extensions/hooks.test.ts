import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type Domain, domain, type LoadedDomain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { joinDomains } from '../../src/compose/extensions.ts'
import { member } from '../../src/contract/policies.ts'
import { checkDomain } from '../../src/extensions/check.ts'
import { keepCallSite, operation } from '../../src/kernel/index.ts'

const pass = async () => undefined

function guard(before: Domain['before'], more: Partial<Domain> = {}): Domain {
  return domain({
    name: 'guard',
    summary: 'Hooks.',
    operations: {},
    create: () => ({ handlers: {} }),
    ...(before && { before }),
    ...more,
  })
}

const loaded = (each: Domain, isOurs = false, more: Partial<LoadedDomain> = {}): LoadedDomain =>
  keepCallSite(each, {
    ...each,
    isOurs,
    source: isOurs ? `domains: ${each.name}` : `extensions: ./${each.name}.ts`,
    ...more,
  })
const ours = bankingDomains.map((each) => loaded(each, true))

const cards = domain({
  name: 'cards',
  summary: 'Cards of an HTTP service.',
  operations: {
    blockCard: operation({
      id: 'cards.block',
      method: 'POST',
      path: '/cards/block',
      chains: ['consumer'],
      summary: 'Block a card',
      policy: { ...member, workspace: 'required', permission: null },
      body: 'none',
      reply: z.null(),
      refuses: [],
    }),
  },
  create: () => ({ handlers: { blockCard: async () => null } }),
})

describe('declarations of hooks', () => {
  test.each([
    [
      'transfers.crate',
      'no domain declares this operation; correct the id, or add the module of its domain to extensions',
    ],
    ['loans.apply', 'no domain declares this operation; correct the id, or add the module of its domain to extensions'],
    ['auth.logout', 'the gateway serves it itself, without hooks; remove the hook'],
    ['auth.unknown', 'the gateway serves it itself, without hooks; remove the hook'],
    ['transfers.list', 'must be a command, not a GET'],
    ['files.upload', 'must be a command with JSON in body and reply'],
    ['recharges.quote', 'must be a command with a transaction'],
    ['exports.link', 'must be a command with a transaction'],
    ['cards.block', 'an HTTP service serves it, where no hook can run; remove the hook'],
  ])('%s: the error names the field, the file and the line', (id, message) => {
    const domains = [...ours, loaded(cards, false, { isRemote: true }), loaded(guard({ [id]: pass }))]
    const { errors } = joinDomains(domains)
    expect(errors).toEqual([expect.stringContaining(`extensions: ./guard.ts: before.${id}: ${message} (`)])
    expect(errors[0]).toMatch(/test\/extensions\/hooks\.test\.ts:\d+:\d+\)$/)
  })

  test('an operation of a domain that is off is an error', () => {
    const { errors } = joinDomains([
      ...ours.filter(({ name }) => name !== 'exchanges'),
      loaded(guard({ 'exchanges.create': pass })),
    ])
    expect(errors).toEqual([
      expect.stringContaining(
        'before.exchanges.create: the domain exchanges is off; remove the hook, or switch the domain on',
      ),
    ])
  })

  test.each([
    [{ transfers: pass }, 'before.transfers: must be a name such as transfers.create'],
    [{ 'transfers.create': 'refuse' }, 'before.transfers.create: must be a function'],
  ])('%o: the shape is an error', (before, message) => {
    const { errors } = checkDomain({ ...guard(undefined), before })
    expect(errors).toEqual([expect.stringContaining(message)])
  })

  test('an extension that is listed twice is an error, so that its hooks never run twice', () => {
    const { errors } = joinDomains([...ours, loaded(guard({ 'transfers.create': pass })), loaded(guard({}))])
    expect(errors).toEqual([expect.stringContaining('name: the name guard is used twice; choose another one')])
  })

  test('an operation cannot declare the hooks of others itself', () => {
    const { blockCard } = cards.operations
    const { errors } = checkDomain({ ...cards, operations: { blockCard: { ...blockCard, before: ['guard'] } } })
    expect(errors).toEqual([expect.stringContaining('operations.blockCard')])
  })

  test('codes of all hooks become refusals of the operation, and of no other one', () => {
    const codes = { 'GUARD.REFUSED': { status: 422 } }
    const own = loaded(guard({ 'transfers.create': pass }, { codes }))
    const other = loaded(guard({ 'transfers.create': pass, 'transfers.cancel': pass }, { name: 'other' }))
    const { catalogue, errors } = joinDomains([...ours, own, other])
    expect(errors).toEqual([])
    const hooked = catalogue.operations.filter(({ before }) => before)
    expect(hooked.map(({ id, before }) => [id, before])).toEqual([
      ['transfers.create', ['guard', 'other']],
      ['transfers.cancel', ['other']],
    ])
    const refusing = catalogue.operations.filter(({ refuses }) => refuses.some((code) => code.startsWith('GUARD.')))
    expect(refusing.map(({ id }) => id)).toEqual(['transfers.create'])
    expect(joinDomains(ours).catalogue.operations.some(({ before }) => before)).toBe(false)
  })
})
