import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { folderIn, runIn } from './user.ts'

/** A correct domain. Each case below replaces one piece of it. */
const correct = `import { domain, type Entry, type HouseParty, type NewOrder, type OwnerNoticeKind, portico, Refusal } from 'portico'
import { createClient, type Wallet } from 'portico/client'
import { bizId, coded, codedFamily, id, type LedgerTypes, member, operation, z } from 'portico/contract'
import { startPortico } from 'portico/testing'

const codes = { 'NOTE.LOCKED': { status: 409 } } as const
const ledgerTypes = {
  orders: { NOTE_FEE: { prefix: 'NFE', open: [], final: ['COMPLETED'] } },
  flowTypes: { NOTE_FEE: 20009901 },
  houseAccounts: ['NOTES'],
} as const satisfies LedgerTypes
declare global {
  interface PorticoCodes {
    notes: typeof codes
  }
  interface PorticoLedger {
    notes: typeof ledgerTypes
  }
  interface PorticoNotices {
    notes: readonly ['NOTE_SHARED']
  }
}
export const ordered: NewOrder['type'] = 'NOTE_FEE'
export const noticeKinds: OwnerNoticeKind[] = ['NOTE_SHARED', 'API_KEY_CREATED']
export const moved: Entry['flowType'] = 'NOTE_FEE'
export const held: HouseParty['house'] = 'NOTES'

const noteStatus = codedFamily('noteStatus', { OPEN: 20010101, LOCKED: 20010102 })
const Note = z.object({ bizId, text: z.string(), noteStatus: coded(noteStatus) })
const open = { code: 'OPEN', value: 20010101, label: 'Open', description: '' }
const contract = {
  readNote: operation({
    id: 'notes.read',
    method: 'GET',
    path: '/notes/{note_id}',
    chains: ['consumer'],
    summary: 'Read a note',
    policy: { ...member, workspace: 'required', permission: 'note:read' },
    params: { note_id: id },
    body: 'none',
    reply: Note,
    refuses: ['NOTE.LOCKED'],
  }),
  createNote: operation({
    id: 'notes.create',
    method: 'POST',
    path: '/notes',
    chains: ['consumer'],
    summary: 'Create a note',
    policy: { ...member, workspace: 'required', permission: 'note:create' },
    body: z.strictObject({ text: z.string() }),
    reply: Note,
    refuses: [],
  }),
}
const notes = domain({
  name: 'notes',
  summary: 'Notes of a workspace.',
  operations: contract,
  codes,
  ledger: ledgerTypes,
  settings: z.strictObject({ maxNotes: z.int() }),
  ownerNotices: ['NOTE_SHARED'],
  on: { 'transfer.completed': async ({ data }) => console.log(data.orderNo.length) },
  needs: ['ids'],
  create: ({ ids, settings }) => ({
    handlers: {
      readNote: async ({ params }) => {
        if (settings.maxNotes === 0) throw new Refusal('NOTE.LOCKED')
        return { bizId: params.note_id, text: '', noteStatus: open }
      },
      createNote: async ({ body, workspace }) => ({ bizId: ids.next(), text: body.text + workspace.id, noteStatus: open }),
    },
  }),
})
export const gateway = portico({ domains: [notes] })
export const started = startPortico({ domains: [notes], contract: [contract] })
const client = createClient({ portal: 'CONSUMER', baseUrl: '/', accessCode: 'x', contract: [contract] })
export const text: Promise<string> = client.createNote({ workspaceId: 'x', body: { text: 'a' } }).then((note) => note.text)
export const status: Promise<'OPEN' | 'LOCKED'> = client
  .readNote({ workspaceId: 'x', params: { note_id: 'x' } })
  .then((note) => note.noteStatus.code)
export const wallets: Promise<Wallet[]> = client.listWallets()
`

const mistakes: [name: string, piece: string, replacement: string][] = [
  ['a handler that returns another type', 'bizId: ids.next(),', 'bizId: 1,'],
  ['a handler that is missing', 'createNote: async', 'createNotes: async'],
  ['a handler that reads a field that the body does not have', 'text: body.text +', 'text: body.title +'],
  ['a handler that reads a parameter that the path does not have', 'params.note_id,', 'params.id,'],
  ['a refusal with an unknown code', "new Refusal('NOTE.LOCKED')", "new Refusal('NOTE.UNKNOWN')"],
  ['an operation that refuses with an unknown code', "refuses: ['NOTE.LOCKED']", "refuses: ['NOTE.UNKNOWN']"],
  ['an undeclared order type', "NewOrder['type'] = 'NOTE_FEE'", "NewOrder['type'] = 'NOTE_GIFT'"],
  ['an undeclared notice', "['NOTE_SHARED', ", "['NOTE_LOST', "],
  ['an undeclared flow type', "Entry['flowType'] = 'NOTE_FEE'", "Entry['flowType'] = 'NOTE_GIFT'"],
  ['an undeclared house account', "HouseParty['house'] = 'NOTES'", "HouseParty['house'] = 'GIFTS'"],
  ['a reaction to an unknown event', "'transfer.completed':", "'transfer.completd':"],
  ['a reaction that reads a field that the event does not have', 'data.orderNo', 'data.orderNumber'],
  ['a policy without a permission', ", permission: 'note:read' }", ' }'],
  ['a policy without a workspace', "workspace: 'required', permission: 'note:create'", "permission: 'note:create'"],
  ['an unknown chain', "chains: ['consumer'],\n    summary: 'Read", "chains: ['customer'],\n    summary: 'Read"],
  ['a reply that is not a schema', 'reply: Note,\n    refuses: []', "reply: 'Note',\n    refuses: []"],
  ['an unknown setting', 'settings.maxNotes', 'settings.minNotes'],
  ['a call of the client with a wrong body', "body: { text: 'a' }", 'body: { text: 1 }'],
  ['a call of the client without a workspace', "client.createNote({ workspaceId: 'x', ", 'client.createNote({ '],
  ['a code of a coded value that is missing', "Promise<'OPEN' | 'LOCKED'>", "Promise<'OPEN'>"],
  ['a call of the client that the contract does not declare', 'client.createNote(', 'client.deleteNote('],
]

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

describe('a TypeScript project', () => {
  let output = ''
  let code = 0

  // The compiler's start takes longer than a file.
  beforeAll(async () => {
    const folder = await folderIn('development')
    const compilerOptions = { module: 'nodenext', target: 'esnext', strict: true, noEmit: true, types: ['node'] }
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
    await mkdir(join(folder, 'mistakes'))
    await writeFile(join(folder, 'correct.ts'), correct)
    for (const [index, [name, piece, replacement]] of mistakes.entries()) {
      if (correct.split(piece).length !== 2) throw new Error(`${name}: the piece must occur once`)
      await writeFile(join(folder, `mistakes/${index}.ts`), correct.replace(piece, replacement))
    }
    const compiled = await runIn(folder, ['npx', 'tsc', '-p', '.', '--pretty', 'false'])
    output = compiled.stdout
    code = compiled.code
  })

  const errorsIn = (file: string): string[] => output.split('\n').filter((line) => line.startsWith(`${file}(`))

  test('compiles a correct domain, its gateway, its test and its client, and checks the types of libraries', () => {
    expect(errorsIn('correct.ts')).toEqual([])
    expect(output.split('\n').filter((line) => line.startsWith('../'))).toEqual([])
    expect(code).not.toBe(0)
  })

  test.each(mistakes.map(([name, piece], index) => ({ name, piece, index })))(
    'has an error at the line of $name',
    ({ piece, index }) => {
      const lines = errorsIn(`mistakes/${index}.ts`).map((error) => Number(/\((\d+),/.exec(error)?.[1]))
      expect(lines).toContain(lineOf(correct, correct.indexOf(piece)))
    },
  )
})
