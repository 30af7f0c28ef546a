import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Domain, domain } from '../../src/api/domain.ts'
import { bankingDomains } from '../../src/banking/index.ts'
import { id } from '../../src/contract/fields.ts'
import { member } from '../../src/contract/policies.ts'
import type { Tx } from '../../src/database/index.ts'
import { type AnyHandler, type AnyRequest, notFound, operation } from '../../src/kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../src/platform/audit/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { type Place, type Samples, startPortico, type TestPortico } from '../../src/testing/index.ts'
import { type Failure, failuresOf } from './failures.ts'

const contract = {
  greet: operation({
    id: 'greetings.greet',
    method: 'GET',
    path: '/greetings',
    chains: ['consumer'],
    summary: 'Read a greeting',
    policy: { ...member, workspace: 'required', permission: 'wallet:read' },
    body: 'none',
    reply: z.object({ text: z.string() }),
    refuses: [],
  }),
}

const greetings = domain({
  name: 'greetings',
  summary: 'Greetings.',
  operations: contract,
  create: () => ({ handlers: { greet: async () => ({ text: 'hello' }) } }),
})

test('stepUp: confirms one command with `mfa.binding: purpose`', async () => {
  const strict = await startPortico({ settings: { mfa: { binding: 'purpose' } } })
  try {
    const email = 'owner@demo.test'
    const owner = await strict.signInConsumer(email)
    await expect(owner.setupOtp({})).rejects.toMatchObject({ code: 'ACCESS.STEP_UP_REQUIRED' })
    await strict.stepUp(owner, email, { operationId: 'mfa.otpSetup' })
    expect((await owner.setupOtp({})).secret).not.toBe('')
    await expect(owner.setupOtp({})).rejects.toMatchObject({ code: 'ACCESS.STEP_UP_REQUIRED' })
  } finally {
    await strict.stop()
  }
})

describe('startPortico', () => {
  let portico: TestPortico<[typeof contract]>
  beforeAll(async () => {
    portico = await startPortico({ domains: [...bankingDomains, greetings], contract: [contract] })
  })
  afterAll(() => portico?.stop())

  test('has a signed-in typed client with the methods of the domain', async () => {
    const owner = await portico.signInConsumer('owner@demo.test')
    const greeting = await owner.greet({ workspaceId: developmentIds.workspace })
    expect(greeting).toEqual({ text: 'hello' })
    expect(await owner.listWallets({ workspaceId: developmentIds.workspace })).toHaveLength(3)
  })

  test('signs operators in, and shows the mails of an address', async () => {
    const operator = await portico.signInOperator('operator@demo.test')
    expect((await operator.readProfile()).accountEmail).toBe('operator@demo.test')
    expect((await portico.mailTo('operator@demo.test', /code/)).text).toMatch(/\d{6}/)
  })

  test('rejects an invalid setting, and leaves nothing behind', async () => {
    await expect(startPortico({ settings: { colour: 'red' } })).rejects.toThrow('colour')
  })
})

const Note = z.object({ bizId: z.string(), text: z.string() })

interface Mistakes {
  createPermission?: 'transfer:create' | 'wallet:read'
  createBody?: z.ZodType
  reply?: z.ZodType
  ignoresWorkspace?: boolean
  ignoresRequestId?: boolean
  toView?(note: z.output<typeof Note>): unknown
}

/** Each operation is correct except for the mistakes. */
function notes(name: string, mistakes: Mistakes = {}): Domain {
  const { reply = Note, toView = (note) => note } = mistakes
  const inWorkspace = { ...member, workspace: 'required' } as const
  const shared = { chains: ['consumer'], reply, refuses: ['RESOURCE.NOT_FOUND'] } as const
  const readPolicy = { ...inWorkspace, permission: 'wallet:read' } as const
  const operations = {
    [`${name}Read`]: operation({
      ...shared,
      id: `${name}.read`,
      method: 'GET',
      path: `/${name}/{note_id}`,
      summary: 'Read a note',
      policy: readPolicy,
      body: 'none',
    }),
    [`${name}List`]: operation({
      ...shared,
      id: `${name}.list`,
      method: 'GET',
      path: `/${name}`,
      summary: 'List notes',
      policy: readPolicy,
      body: 'none',
      reply: z.array(Note),
    }),
    [`${name}Create`]: operation({
      ...shared,
      id: `${name}.create`,
      method: 'POST',
      path: `/${name}`,
      summary: 'Create a note',
      policy: { ...inWorkspace, permission: mistakes.createPermission ?? 'transfer:create', idempotent: true },
      body: mistakes.createBody ?? z.strictObject({ text: z.string().min(1).max(50) }),
    }),
    [`${name}Rename`]: operation({
      ...shared,
      id: `${name}.rename`,
      method: 'POST',
      path: `/${name}/rename`,
      summary: 'Rename a note',
      policy: { ...inWorkspace, permission: 'transfer:create' },
      body: z.strictObject({ noteBizId: id, text: z.string().max(50) }),
    }),
  }
  return domain({
    name,
    summary: 'Notes.',
    operations,
    needs: ['once', 'ids', 'transaction'],
    create: ({ once, ids, transaction }) => {
      const stored = new Map<string, { workspace: string | undefined; note: z.output<typeof Note> }>()
      const find = (noteId: string | undefined, { workspace }: AnyRequest) => {
        const found = stored.get(noteId ?? '')
        if (!found || (!mistakes.ignoresWorkspace && found.workspace !== workspace?.id)) throw notFound()
        return found.note
      }
      const create = (request: AnyRequest) => {
        const note = { bizId: ids.next(), text: String(Reflect.get(Object(request.body), 'text')) }
        stored.set(note.bizId, { workspace: request.workspace?.id, note })
        return note
      }
      const audit = async (tx: Tx, { caller, ...request }: AnyRequest) => {
        if (!caller) throw new Error('no caller')
        const workspaceId = request.workspace?.id ?? null
        await recordSuccess(tx, auditContextOf({ ...request, caller }), { workspaceId, targetId: null })
      }
      const handlers: [string, AnyHandler][] = [
        [`${name}.read`, async (request) => toView(find(request.params.note_id, request))],
        [
          `${name}.list`,
          async ({ workspace }) =>
            [...stored.values()]
              .filter((each) => mistakes.ignoresWorkspace || each.workspace === workspace?.id)
              .map(({ note }) => note),
        ],
        [
          `${name}.create`,
          async (request) => {
            const { caller, idempotency, workspace } = request
            if (!caller || !idempotency || mistakes.ignoresRequestId) return create(request)
            return once({ ...request, caller, idempotency, workspace }, async (tx) => {
              await audit(tx, request)
              return create(request)
            })
          },
        ],
        [
          `${name}.rename`,
          async (request) => {
            const { noteBizId, text } = z.object({ noteBizId: z.string(), text: z.string() }).parse(request.body)
            const renamed = Object.assign(find(noteBizId, request), { text })
            await transaction((tx) => audit(tx, request))
            return renamed
          },
        ],
      ]
      return { handlers: new Map(handlers) }
    },
  })
}

function samplesOf({ name, operations }: Domain): Samples {
  const createNote = async (place: Place): Promise<string> => {
    const declared = operations[`${name}Create`]
    if (!declared) throw new Error(`${name} creates no notes`)
    return (await place.run({ ...declared, reply: Note }, { body: { text: 'a note' } })).bizId
  }
  return {
    [`${name}.create`]: () => ({ body: { text: 'a note' } }),
    [`${name}.read`]: async (place) => ({ params: { note_id: await createNote(place) } }),
    [`${name}.rename`]: async (place) => ({ body: { noteBizId: await createNote(place), text: 'renamed' } }),
  }
}

describe('promises', () => {
  const domains = [
    notes('careful'),
    notes('shared', { ignoresWorkspace: true }),
    notes('readable', { createPermission: 'wallet:read' }),
    notes('repeated', { ignoresRequestId: true }),
    notes('talkative', { toView: (note) => ({ ...note, secret: 'internal' }) }),
    notes('mistyped', { toView: (note) => ({ ...note, text: 1 }) }),
    notes('lenient', { createBody: z.looseObject({ text: z.coerce.string() }) }),
    notes('loose', { reply: z.looseObject({ bizId: z.string(), text: z.string() }) }),
    notes('crashing', {
      toView: () => {
        throw new TypeError('no such method')
      },
    }),
  ]
  let failures: Failure[] = []
  let printed = ''
  beforeAll(async () => {
    const written = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      printed += String(text)
      return true
    })
    failures = await failuresOf(domains, { samples: Object.assign({}, ...domains.map(samplesOf)) })
    written.mockRestore()
  })
  const namesOf = (name: string): string[] =>
    failures.map((failure) => failure.name).filter((each) => each.startsWith(`${name}.`))
  const tenancy = 'an id of another workspace has the same response as an unknown id'
  const replies = 'the handler replies with the declared fields only'

  test('a domain that keeps them has no failure', () => {
    expect(namesOf('careful')).toEqual([])
  })

  test.each([
    [
      'statements without the workspace',
      'shared',
      [
        `shared.read on consumer: ${tenancy}`,
        `shared.rename on consumer noteBizId: ${tenancy}`,
        'shared.list on consumer: contains nothing of another workspace',
      ],
    ],
    [
      'a command with a read permission',
      'readable',
      ['readable.create on consumer 403 ACCESS.PERMISSION_DENIED: a read-only role writes nothing'],
    ],
    ['a reply with an undeclared field', 'talkative', [`talkative.read on consumer: ${replies}`]],
    ['a reply of another type', 'mistyped', [`mistyped.read on consumer: ${replies}`]],
    [
      'a body schema that accepts unknown fields and other types',
      'lenient',
      [
        'lenient.create on consumer 400 VALIDATION.INVALID_PARAMETER: an unknown field',
        'lenient.create on consumer 400 VALIDATION.INVALID_PARAMETER: a field of another type',
      ],
    ],
    [
      'a reply schema that accepts undeclared fields',
      'loose',
      [
        `loose.read on consumer: ${replies}`,
        `loose.create on consumer: ${replies}`,
        `loose.rename on consumer: ${replies}`,
      ],
    ],
  ])('name %s', (_, name, expected) => {
    expect(namesOf(name)).toEqual(expected)
  })

  test('name a command that takes effect without once', () => {
    expect(namesOf('repeated')).toContain(
      'repeated.create on consumer: takes effect once per X-Request-Id; another input is 422 REQUEST.ID_REUSED',
    )
  })

  test('print the error of a handler that fails, because the response is only a 500', () => {
    expect(namesOf('crashing')).not.toEqual([])
    expect(printed).toMatch(/the handler of crashing\.read failed: TypeError: no such method\n {4}at .*kit\.test\.ts/)
    expect(printed).not.toContain('careful')
  })

  test('name the operation for which valid input is missing', async () => {
    const missing = await failuresOf([domains[0] ?? notes('careful')])
    expect(missing.map(({ name }) => name)).toContain(`careful.read on consumer: ${tenancy}`)
    expect(missing.map(({ message }) => message)).toContain(
      "Error: add valid input with note_id for 'careful.read' to `samples` of promises()",
    )
  })
})
