import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Configuration, placeOf } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import {
  assertWritable,
  type ClockSkew,
  createSnapshotReader,
  type Database,
  isServerAway,
  type OpenDatabase,
  openDatabase,
  type ReadSnapshot,
  watchClockSkew,
} from '../database/index.ts'
import type { Clock, Durations, Ids, Randomness, Words } from '../kernel/index.ts'
import { type BackgroundWork, createBackgroundWork } from '../platform/background-work.ts'
import { type Blobs, openBlobs, watchBlobs, withBlobMetrics } from '../platform/blobs/index.ts'
import type { Cache } from '../platform/cache/index.ts'
import {
  createKeyedDigest,
  createPasswordHasher,
  createSecretBox,
  type KeyedDigest,
  type PasswordHasher,
  type SecretBox,
} from '../platform/crypto/index.ts'
import { createDependencyLog, type DependencyLog, faultReport } from '../platform/dependency-log.ts'
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
import { openWhenBack, type StoreWait } from '../platform/store-wait.ts'
import { createBlobMetrics, createMailMetrics } from '../platform/telemetry/index.ts'
import type { ClientSpans } from '../platform/tracing/index.ts'
import { mailTextsOf, wordsOf } from './catalogue.ts'
import type { Loaded } from './extensions.ts'
import { migrateStore } from './migrations.ts'
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
  dependencies: DependencyLog
  probes: (SharedState['probes'][number] & { readOnlyReason?(): string | null; isOptional?: boolean })[]
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

export interface ProcessPorts {
  logger: Logger
  clock: Clock
  durations: Durations
  spans: ClientSpans | null
  /** Null if a store that is away ends the start. */
  whileAway: StoreWait['whileAway'] | null
}

/** With `allowReplicas`, other processes of this kind can run without Redis. */
export async function openInfrastructure(
  settings: Configuration,
  catalogue: Catalogue,
  { domains, owners }: Loaded,
  allowReplicas: boolean,
  { logger, clock, durations, registry, spans, whileAway }: ProcessPorts & { registry: Registry },
  stack: AsyncDisposableStack,
): Promise<Infrastructure> {
  const dependencies = createDependencyLog(logger, durations)
  let readOnly: string | null = null
  const onDiskFull = (isFull: boolean): void => {
    readOnly = isFull ? 'the disk is full' : null
    if (isFull) logger.error('disk full: the embedded store is read-only')
    else logger.info('disk space available again: the embedded store is writable')
  }
  const texts = await mailTextsOf(domains)
  const wait: StoreWait | null = whileAway && {
    durations,
    whileAway,
    onAway: dependencies.failed,
    onBack: (dependency) => logger.info({ dependency }, 'dependency works; the start continues'),
  }
  const target = databaseTarget(
    settings,
    (error) => dependencies.failed('database', error),
    () => dependencies.works('database'),
    onDiskFull,
    spans,
  )
  const store = await openWhenBack('database', () => openDatabase(target), isServerAway, wait)
  stack.defer(() => store.close())
  await assertWritable(store.database)
  // A test moves its clock, and the embedded store has the clock of this process.
  const usesDatabaseClock = store.kind === 'postgres' && clock === systemClock
  const clockSkew = usesDatabaseClock
    ? await watchClockSkew(
        {
          database: store.database,
          clock,
          logger,
          onFault: faultReport({ dependencies, durations }, logger, 'clock skew could not be measured'),
        },
        settings.database.maxClockSkewMs,
      )
    : null
  stack.defer(() => clockSkew?.close())
  const migrated = await migrateStore(store, owners, settings)
  if (migrated.length > 0) logger.info({ migrated }, 'schema migrated')
  const shared = await openSharedState(settings, allowReplicas, { clock, logger, dependencies, spans, wait }, stack)
  const limits = createLimits(() => settings.limits.scale, clock, shared.counters)
  stack.defer(() => limits.close())
  const opened = await openBlobs(settings.files.storage, settings.dataDirectory, dependencies)
  const blobs = withBlobMetrics(opened, createBlobMetrics(registry))
  stack.defer(() => blobs.close())
  const usesBlobs = domains.some(
    ({ name, needs = [] }) => needs.includes('blobs') && (allowReplicas || placeOf(settings, name) === 'in-process'),
  )
  const blobWatch = usesBlobs ? await watchBlobs(opened, dependencies) : null
  stack.defer(() => blobWatch?.close())
  const mailPorts = { database: store.database, clock, dependencies, registry }
  const { queue, ...mail } = await createMailer(settings, texts, mailPorts, logger)
  stack.defer(() => mail.mailer.close())
  const background = createBackgroundWork(settings.background, logger, systemRandomness)
  stack.defer(async () => void (await Promise.all([background.close(), queue?.close()])))
  const keys = settings.secretKeys.reveal()
  // The embedded store calls `onDiskFull`.
  const checkStore = async (): Promise<void> => {
    const reason = await store.check()
    if (store.kind === 'postgres') readOnly = reason
  }
  return {
    database: store.database,
    databaseNamed: store.named,
    waitingForDatabase: store.waiting,
    databaseConnections: store.connections,
    withoutTimeouts: store.withoutTimeouts,
    storeFailure: store.fatal,
    inSnapshot: createSnapshotReader(store, clock),
    blobs,
    dependencies,
    probes: [
      { name: 'store', check: checkStore, readOnlyReason: () => readOnly },
      ...(clockSkew ? [{ name: 'clock', check: clockSkew.check }] : []),
      ...shared.probes,
      ...(blobWatch ? [{ name: 'files', check: blobWatch.check, isOptional: true }] : []),
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
    words: wordsOf(catalogue, domains, settings),
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

interface MailPorts {
  database: Database
  clock: Clock
  dependencies: DependencyLog
  registry: Registry
}

/** Several replicas share an outbox in the database, which needs no queue. */
async function createMailer(
  settings: Configuration,
  texts: MailTexts,
  { database, clock, dependencies, registry }: MailPorts,
  logger: Logger,
) {
  const count = createMailMetrics(registry)
  const { from, timeoutMs } = settings.mail
  if (settings.smtpUrl) {
    const smtp = await openSmtpMailer({ url: settings.smtpUrl.reveal(), from, timeoutMs }, texts, dependencies)
    void smtp.verify()
    const mailer = withMailMetrics(smtp, count)
    // Separate from other background work, which must not delay codes.
    const queue = createBackgroundWork({ ...settings.background, spreadMs: 0 }, logger, systemRandomness)
    return { mailer, codeMails: createMailQueue(mailer, queue), queue, outbox: null }
  }
  const outbox = settings.databaseUrl ? createSharedOutbox(texts, clock, database) : createOutbox(texts, clock)
  return { mailer: outbox, codeMails: outbox, queue: null, outbox }
}
