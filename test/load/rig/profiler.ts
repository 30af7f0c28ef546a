import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

/* Preloaded by `npm run bench -- --profile`. The first SIGUSR2 starts a CPU profile, and the second writes it. */
const file = process.env.BENCH_PROFILE ?? 'gateway.cpuprofile'
let session: Session | null = null

async function begin(): Promise<void> {
  session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.setSamplingInterval', { interval: 250 })
  await session.post('Profiler.start')
}

async function end(profiled: Session): Promise<void> {
  session = null
  const { profile } = await profiled.post('Profiler.stop')
  writeFileSync(file, JSON.stringify(profile))
  profiled.disconnect()
}

process.on('SIGUSR2', () => void (session ? end(session) : begin()))
