/** One mistake for each message of `config check` about an extension: the rule, and what to do. */
export const mistakes: readonly [name: string, change: string, message: string][] = [
  [
    'a slow pattern',
    'o.query = z.strictObject({ name: z.string().regex(/^(\\w+\\s?)*$/) })',
    'operations.readCard.query.name: the pattern ^(\\w+\\s?)*$ can take super-linear time; see docs/reference/patterns.md',
  ],
  [
    'a slow pattern in a reply',
    'o.reply = z.array(z.object({ name: z.string().regex(/^(a+)+$/).nullable() }))',
    'operations.readCard.reply.name: the pattern ^(a+)+$ can take super-linear time; see docs/reference/patterns.md',
  ],
  [
    'a reaction to an unknown event',
    "d.on = { 'transfer.vanished': async () => undefined }",
    'on.transfer.vanished: no domain that is on declares this event; correct the type, or switch its domain on',
  ],
  [
    'a missing policy field',
    'delete o.policy.rate',
    'operations.readCard.policy.rate: is missing; set it to a value of type string',
  ],
  [
    'an unknown rate group',
    "o.policy.rate = 'cards'",
    'operations.readCard.policy.rate: cards.read of cards counts towards the rate group cards, which no owner declares; add it to rateGroups',
  ],
  [
    'a rate group of Portico',
    'd.rateGroups = { general: { account: { limit: 1, windowMs: 1000 } } }',
    'rateGroups.general: rate group general is declared by pipeline and by cards; choose another one',
  ],
  ['a rate group without a limit', 'd.rateGroups = { cards: {} }', 'rateGroups.cards: must have at least one of'],
  [
    'a rate group with an invalid window',
    'd.rateGroups = { cards: { account: { limit: 1, windowMs: 1 } } }',
    'rateGroups.cards.account.windowMs: ',
  ],
  [
    'a people-only action that does not exist',
    "d.permissions = { workspace: { card: { actions: ['read'], peopleOnly: ['block'] } } }",
    'peopleOnly: must list only names in `actions`',
  ],
  [
    'a place of settings',
    "d.settingsKey = 'cards'; d.settings = z.strictObject({})",
    'settingsKey: only domains that `portico()` gets can have it',
  ],
  ['a wrong id', "o.id = 'loans.read'", 'operations.readCard.id: must be cards. and a name'],
  [
    'an unknown permission',
    "o.policy.permission = 'card:read'",
    'operations.readCard.policy.permission: cards.read of cards requires card:read, which no owner declares in permissions.workspace; add it there',
  ],
  [
    'an unknown code',
    "o.refuses = ['CARD.LOST']",
    'operations.readCard.refuses: cards.read of cards refuses with CARD.LOST, which no owner declares in codes; add it there',
  ],
  [
    'a code without locales',
    "d.codes = { 'CARD.LOST': { status: 422 } }",
    'locales: is missing, but refusal.CARD.LOST needs a text; set the URL of a folder with en.yaml',
  ],
  [
    'a code without text',
    "d.codes = { 'CARD.LOST': { status: 422 } }; d.locales = new URL('./locales/', import.meta.url)",
    'en.yaml has no text refusal.CARD.LOST; add it',
  ],
  [
    'a notice without text',
    "d.ownerNotices = ['CARD_LOST']; d.locales = new URL('./locales/', import.meta.url)",
    'en.yaml has no text notice.owners.CARD_LOST.event; add it',
  ],
  [
    'a route of Portico',
    "o.path = '/wallets'",
    'operations.readCard.path: route GET /web/v1/consumer/wallets is declared by wallets and by cards; choose another one',
  ],
  [
    'a name of Portico',
    "d.name = 'wallets'; o.id = 'wallets.card'",
    'the name wallets is used twice; choose another one',
  ],
  [
    'a permission of Portico',
    "d.permissions = { workspace: { wallet: ['read'] } }; d.locales = new URL('./taken/', import.meta.url)",
    'permissions.workspace.wallet: workspace permission wallet:read is declared by wallets and by cards; choose another one',
  ],
  [
    'a text of Portico',
    "d.locales = new URL('./replaced/', import.meta.url)",
    'replaced/en.yaml declares the text notice.decision.APPROVED, which exists already; remove it',
  ],
  [
    'a text that belongs to no declaration',
    "d.locales = new URL('./locales/', import.meta.url)",
    'en.yaml has the text refusal.CARD.BLOCKED, which belongs to no declaration; remove it',
  ],
  [
    'two operations with one id',
    "d.operations.listCards = { ...o, path: '/cards/all' }",
    'operations.listCards.id: operation cards.read is declared by cards and by cards; choose another one',
  ],
  [
    'two operations on one path',
    "d.operations.listCards = { ...o, id: 'cards.list' }",
    'operations.listCards.path: route GET /web/v1/consumer/cards is declared by cards and by cards; choose another one',
  ],
  [
    'an operation without a handler',
    'd.create = () => ({ handlers: {} })',
    'create: readCard has no handler; add it to `handlers`',
  ],
  [
    'a handler without an operation',
    'd.create = () => ({ handlers: { readCard: async () => true, blockCard: async () => true } })',
    'create: the handler blockCard has no operation; declare it or remove the handler',
  ],
  [
    'a job with a foreign name',
    "d.create = () => ({ handlers: { readCard: async () => true }, jobs: [{ name: 'loans.expire' }] })",
    'create: the name of job loans.expire must begin with cards.',
  ],
  ['a create function that throws', "d.create = () => { throw new Error('no cards') }", 'create: no cards'],
  [
    'a mail without its English text',
    "d.mails = { directory: new URL('./mails/', import.meta.url), templates: { blocked: ['card'] } }",
    'blocked',
  ],
  ['an unknown port', "d.needs = ['clok']", "needs.0: 'clok' is not one of the ports accounts, blobs, "],
  ['a port twice', "d.needs = ['clock', 'ids', 'clock']", 'needs.2: lists clock twice; remove one'],
  [
    'the whole configuration',
    "d.needs = ['configuration']",
    "needs.0: 'configuration' is not one of the ports accounts, ",
  ],
  ['settings as a port', "d.needs = ['settings']", "needs.0: 'settings' is not one of the ports accounts, "],
  [
    'a port that create reads without naming it',
    "d.needs = ['clock']; d.create = ({ clock, secretBox }) => ({ handlers: {} })",
    'needs: is missing secretBox, which create reads; add it',
  ],
  [
    'a needless call of use',
    "d.create = ({ use }) => { use('members'); return { handlers: {} } }",
    'create: use is not a function',
  ],
  [
    'the name of the bank',
    "d.name = 'banking'; o.id = 'banking.card'",
    'the name banking is used twice; choose another one',
  ],
  [
    'the name of the kernel',
    "d.name = 'kernel'; o.id = 'kernel.card'",
    'the name kernel is used twice; choose another one',
  ],
  [
    'the name of the pipeline',
    "d.name = 'pipeline'; o.id = 'pipeline.card'",
    'the name pipeline is used twice; choose another one',
  ],
  [
    'a route of Portico on another chain',
    "o.chains = ['shared']; o.path = '/consumer/wallets'",
    'operations.readCard.path: route GET /web/v1/consumer/wallets is declared by wallets and by cards; choose another one',
  ],
  [
    'an operation called codes',
    'd.operations = { codes: o }',
    'operations.codes: is a reserved name; choose another one',
  ],
  [
    'an export name of Portico',
    'd.operations = { createTransfer: o }',
    'operations.createTransfer: export name createTransfer is declared by transfers and by cards; choose another one',
  ],
  [
    'an unknown code for a malformed path',
    "o.malformedParam = 'CARD.LOST'",
    'operations.readCard.malformedParam: cards.read of cards refuses with CARD.LOST, which no owner declares in codes; add it there',
  ],
  [
    'an anonymous caller in a workspace',
    "o.policy.caller = 'anonymous'",
    "operations.readCard.policy.workspace: needs `caller: 'account'`",
  ],
  [
    'a body that accepts unknown fields',
    "o.method = 'POST'; o.body = z.object({ card: z.string() })",
    'operations.readCard.body: must be a z.strictObject',
  ],
  [
    'a reply that JSON cannot express',
    'o.reply = z.date()',
    'operations.readCard.reply: Date cannot be represented in JSON Schema; use a type that JSON has',
  ],
  [
    'a migration without a number',
    "d.migrations = [{ name: 'cards', up: async () => undefined }]",
    'migrations: migration cards/cards is not named like 001-baseline: use a three-digit number and lower-case words',
  ],
  [
    'an order type of Portico',
    "d.ledger = { orders: { TRANSFER: { prefix: 'CRD', open: [], final: ['DONE'] } } }",
    'ledger.orders.TRANSFER: order type TRANSFER is declared by transfers and by cards; choose another one',
  ],
  [
    'a house account of Portico',
    "d.ledger = { houseAccounts: ['FEE'] }",
    'ledger.houseAccounts: house account FEE is declared by ledger and by cards; choose another one',
  ],
  [
    'a refusal code of Portico',
    "d.codes = { 'STATE.CONFLICT': { status: 409 } }; d.locales = new URL('./locales/', import.meta.url)",
    'codes.STATE.CONFLICT: refusal code STATE.CONFLICT is declared by pipeline and by cards; choose another one',
  ],
  [
    'a domain to use that does not exist',
    "d.uses = ['bills']",
    'uses: no domain has the name bills; add its module to extensions, or remove it',
  ],
  [
    'a wallet as a house account',
    "d.ledger = { houseAccounts: ['WALLET'] }",
    'ledger.houseAccounts.0: is a reserved name; choose another one',
  ],
  [
    'a flow type without text',
    "d.ledger = { flowTypes: { CARD_FEE: 20000301 } }; d.locales = new URL('./locales/', import.meta.url)",
    'en.yaml has no text coded.flowType.CARD_FEE.label; add it',
  ],
  [
    'an order type whose open orders cannot be cancelled',
    "d.ledger = { orders: { CARD: { prefix: 'CRD', open: ['SENT'], final: ['DONE'] } } }",
    'ledger.orders.CARD.final: CANCELLED is missing, which the reset of a sandbox needs for open orders; add it',
  ],
  [
    'an open status that is always final',
    "d.ledger = { orders: { CARD: { prefix: 'CRD', open: ['FAILED'], final: ['CANCELLED'] } } }",
    'ledger.orders.CARD.open: FAILED is always final; move it to `final`',
  ],
  [
    'a status that is open and final',
    "d.ledger = { orders: { CARD: { prefix: 'CRD', open: ['SENT'], final: ['SENT', 'CANCELLED'] } } }",
    'ledger.orders.CARD.final: SENT is open, too; remove one',
  ],
  [
    'a field that does not exist',
    'd.colour = 7',
    'default export: Unrecognized key: "colour"; remove it or correct its name',
  ],
  [
    'an empty summary',
    "o.summary = ''",
    'operations.readCard.summary: Too small: expected string to have >=1 characters',
  ],
  [
    'an example that its schema refuses',
    'o.examples = { reply: 7 }',
    'operations.readCard.examples.reply: Invalid input: expected boolean, received number; change the example or the schema',
  ],
  [
    'an example without a schema',
    "o.examples = { query: { name: 'x' } }",
    'operations.readCard.examples.query: the operation has no schema for it; remove it',
  ],
  [
    'a field to confirm that does not exist',
    "o.confirms = ['card']",
    'operations.readCard.confirms: card is neither a path parameter nor a field of the query or of an object body; remove it',
  ],
  [
    'a folder of texts that does not exist',
    "d.locales = new URL('./nothing/', import.meta.url)",
    'nothing/en.yaml does not exist; create it with the English texts',
  ],
  ['no reply schema', 'o.reply = {}', 'operations.readCard.reply: must be a zod schema'],
  ['a purpose that is a list', "o.purpose = ['amount']", 'operations.readCard.purpose: must be a function'],
  ['a purpose of other fields', 'o.purpose = ({ payee }) => ({ payee })', 'operations.readCard.purpose: reads payee'],
  ['a purpose that is a list', "o.purpose = ['amount']", 'operations.readCard.purpose: must be a function'],
  ['a purpose of other fields', 'o.purpose = ({ payee }) => ({ payee })', 'operations.readCard.purpose: reads payee'],
  ['a module that throws', "throw new Error('out of cards')", 'out of cards'],
]
