import { createServer } from 'node:http'

/** `GET /run?seconds=S` runs the work concurrently and returns the number of completions. */
export function serveRuns(atOnce: number, work: () => Promise<unknown>): void {
  const run = async (seconds: number) => {
    const begun = performance.now()
    const until = begun + seconds * 1000
    let done = 0
    const loop = async (): Promise<void> => {
      while (performance.now() < until) {
        await work()
        done += 1
      }
    }
    await Promise.all(Array.from({ length: atOnce }, loop))
    return { done, seconds: (performance.now() - begun) / 1000 }
  }
  createServer(async (request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://127.0.0.1')
    response.end(JSON.stringify(await run(Number(searchParams.get('seconds')))))
  }).listen(Number(process.env.PORT), '127.0.0.1')
}
