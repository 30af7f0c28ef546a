import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Configuration } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import {
  assertWritable,
  type ClockSkew,
  createSnapshotReader,
  type Database,
  type OpenDatabase,
  openDatabase,
  type ReadSnapshot,
  watchClockSkew,
} from '../database/index.ts'
import type { Clock, Durations, Ids, Randomness, Words } from '../kernel/index.ts'
import { type BackgroundWork, createBackgroundWork } from '../platform/background-work.ts'
import { type Blobs, openBlobs, withBlobMetrics } from '../platform/blobs/index.ts'
import type { Cache } from '../platform/cache/index.ts'
import {
  createKeyedDigest,
  createPasswordHasher,
  createSecretBox,
  type KeyedDigest,
  type PasswordHasher,
  type SecretBox,
} from '../platform/crypto/index.ts'
import { createLimits, type Limits } from '../platform/limits/index.ts'
import {
  createMailQueue,
  createOutbox,
  createSharedOutbox,
  type Mailer,
  type MailQueue,
  type MailTexts,
  openSmtpMailer,
  type ReadableOutbox,
  withMailMetrics,
} from '../platform/mail/index.ts'
import type { PubSub } from '../platform/pubsub.ts'
import { systemClock, systemIds, systemRandomness } from '../platform/runtime/index.ts'
import { createBlobMetrics, createMailMetrics } from '../platform/telemetry/index.ts'
import type { ClientSpans } from '../platform/tracing/index.ts'
import { mailTextsOf, wordsOf } from './catalogue.ts'
import type { Loaded } from './extensions.ts'
import { openSharedState, type SharedState } from './shared-state.ts'
import { databaseTarget } from './store.ts'

/** Clients give up before a longer queue reaches them. */
const waitingHashes = 500

export interface Infrastructure {
  database: Database
  databaseNamed: OpenDatabase['named']
  waitingForDatabase: OpenDatabase['waiting']
  databaseConnections: OpenDatabase['connections']
  withoutTimeouts: OpenDatabase['withoutTimeouts']
  storeFailure: OpenDatabase['fatal']
  inSnapshot: ReadSnapshot
  blobs: Blobs
  /** Null without PostgreSQL. */
  clockSkew: ClockSkew | null
  /** Whether commands of the ledger can rely on the clock of the database instead of the one of this process. */
  usesDatabaseClock: boolean
  probes: (SharedState['probes'][number] & { isReadOnly?(): boolean })[]
  redisMemory: SharedState['redisMemory']
  cache: Cache
  pubsub: PubSub
  limits: Limits
  mailer: Mailer
  codeMails: MailQueue
  /** Null if mail is sent by SMTP. */
  outbox: ReadableOutbox | null
  background: BackgroundWork
  droppedTasks(): number
  waitingCodeMails(): number
  words: Words
  clock: Clock
  durations: Durations
  ids: Ids
  randomness: Randomness
  secretBox: SecretBox
  digest: KeyedDigest
  passwords: PasswordHasher
}

/** With `allowReplicas`, other processes of this kind can run without Redis. */
export async function openInfrastructure(
  settings: Configuration,
  catalogue: Catalogue,
  { domains, owners }: Loaded,
  allowReplicas: boolean,
  {
    logger,
    clock,
    durations,
    registry,
    spans = null,
  }: { logger: Logger; clock: Clock; durations: Durations; registry: Registry; spans?: ClientSpans | null },
  stack: AsyncDisposableStack,
): Promise<Infrastructure> {
  const onConnectionBroken = (error: Error) => logger.warn({ err: error }, 'database connection lost')
  let isDiskFull = false
  const onDiskFull = (isFull: boolean): void => {
    isDiskFull = isFull
    if (isFull) logger.error('disk full: the embedded store is read-only')
    else logger.info('disk space available again: the embedded store is writable')
  }
  const texts = await mailTextsOf(domains)
  const store = await openDatabase(databaseTarget(settings, onConnectionBroken, onDiskFull, spans))
  stack.defer(() => store.close())
  await assertWritable(store.database)
  // A test moves its clock, and the embedded store has the clock of this process.
  const usesDatabaseClock = store.kind === 'postgres' && clock === systemClock
  const clockSkew = usesDatabaseClock
    ? await watchClockSkew({ database: store.database, clock, logger }, settings.database.maxClockSkewMs)
    : null
  stack.defer(() => clockSkew?.close())
  const migrated = await store.migrate(owners)
  if (migrated.length > 0) logger.info({ migrated }, 'schema migrated')
  const shared = await openSharedState(settings, allowReplicas, { clock, logger, spans }, stack)
  const limits = createLimits(() => settings.limits.scale, clock, shared.counters)
  stack.defer(() => limits.close())
  const blobs = withBlobMetrics(
    await openBlobs(settings.files.storage, settings.dataDirectory),
    createBlobMetrics(registry),
  )
  stack.defer(() => blobs.close())
  const { queue, ...mail } = await createMailer(settings, texts, { database: store.database, clock }, logger, registry)
  stack.defer(() => mail.mailer.close())
  const background = createBackgroundWork(settings.background, logger, systemRandomness)
  stack.defer(async () => void (await Promise.all([background.close(), queue?.close()])))
  const keys = settings.secretKeys.reveal()
  return {
    database: store.database,
    databaseNamed: store.named,
    waitingForDatabase: store.waiting,
    databaseConnections: store.connections,
    withoutTimeouts: store.withoutTimeouts,
    storeFailure: store.fatal,
    inSnapshot: createSnapshotReader(store, clock),
    blobs,
    probes: [
      { name: 'store', check: store.check, isReadOnly: () => isDiskFull },
      ...(clockSkew ? [{ name: 'clock', check: clockSkew.check }] : []),
      ...shared.probes,
    ],
    clockSkew,
    redisMemory: shared.redisMemory,
    cache: shared.cache,
    pubsub: shared.pubsub,
    limits,
    ...mail,
    background,
    droppedTasks: () => background.dropped() + (queue?.dropped() ?? 0),
    waitingCodeMails: () => queue?.waiting() ?? 0,
    words: wordsOf(catalogue, domains, settings.codedValues),
    clock,
    usesDatabaseClock,
    durations,
    ids: systemIds,
    randomness: systemRandomness,
    secretBox: createSecretBox(keys, systemRandomness),
    digest: createKeyedDigest(keys),
    passwords: createPasswordHasher(
      // Each first step of a sign-in computes one hash.
      { concurrency: settings.login.concurrency, waiting: waitingHashes },
      systemRandomness,
    ),
  }
}

/** Several replicas share an outbox in the database, which needs no queue. */
async function createMailer(
  settings: Configuration,
  texts: MailTexts,
  { database, clock }: { database: Database; clock: Clock },
  logger: Logger,
  registry: Registry,
) {
  const count = createMailMetrics(registry)
  const { from, timeoutMs } = settings.mail
  if (settings.smtpUrl) {
    const mailer = withMailMetrics(
      await openSmtpMailer({ url: settings.smtpUrl.reveal(), from, timeoutMs }, texts),
      count,
    )
    // Separate from other background work, which must not delay codes.
    const queue = createBackgroundWork({ ...settings.background, spreadMs: 0 }, logger, systemRandomness)
    return { mailer, codeMails: createMailQueue(mailer, queue), queue, outbox: null }
  }
  const outbox = settings.databaseUrl ? createSharedOutbox(texts, clock, database) : createOutbox(texts, clock)
  return { mailer: outbox, codeMails: outbox, queue: null, outbox }
}
