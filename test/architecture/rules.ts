import { readdirSync } from 'node:fs'

/** Paths are relative to src, with forward slashes. */
export interface ImportRule {
  name: string
  from: RegExp
  /** Project files by path, packages and built-in modules by specifier. */
  forbids: RegExp
  exceptFrom?: RegExp
  exceptTo?: RegExp
}

export interface TextRule {
  name: string
  in: RegExp
  except?: RegExp
  forbids: RegExp
}

const ours = readdirSync(new URL('../../src', import.meta.url), { withFileTypes: true })
  .map((entry) => (entry.isDirectory() ? `${entry.name}/` : `${entry.name.replace('.', '\\.')}$`))
  .join('|')
function allBut(...folders: string[]): RegExp {
  return new RegExp(`^(?!(${folders.join('|')})/)(${ours})`)
}

/** Contract files run in a browser. */
const contractFile = /^contract\/|(^|\/)contract\.ts$/

export const importRules: ImportRule[] = [
  {
    name: 'kernel imports nothing of ours',
    from: /^kernel\//,
    forbids: allBut('kernel'),
  },
  {
    name: 'contract files import the kernel and other contract files',
    from: contractFile,
    forbids: allBut('kernel', 'contract'),
    exceptTo: contractFile,
  },
  {
    name: 'kernel and contract files are safe in a browser',
    from: /^(kernel|contract)\/|(^|\/)contract\.ts$/,
    forbids: /^node:|^(express|kysely|pg|undici|jose|pino)/,
  },
  {
    name: 'only app.ts, gateway and backends see Express',
    from: /./,
    exceptFrom: /^(app\.ts$|gateway\/|backends\/)/,
    forbids: /^(express|http-proxy-middleware|helmet|pino-http)$/,
  },
  {
    name: 'only compose chooses implementations',
    from: /./,
    exceptFrom: /^(main|cli|app|portico)\.ts$|^(compose|cli|testing)\//,
    forbids: /^((main|cli|portico)\.ts$|(compose|cli)\/)/,
  },
  {
    name: 'compose gets domains from banking/index.ts, and only by their definitions',
    from: /^compose\//,
    forbids: /^banking\/(?!index\.ts$)/,
    exceptTo: /\/contract\.ts$/,
  },
  {
    // These are the modules; public-imports.ts limits the names.
    name: 'domains import the public API, contract files, and index files of kernel, database, platform and ledger',
    from: /^banking\/[^/]+\//,
    forbids: allBut('banking'),
    exceptTo:
      /^api\/(domain|services|notices)\.ts$|^config\/values\.ts$|^contract\/|\/contract\.ts$|^(kernel|database|ledger|platform\/[^/]+)\/index\.ts$|^platform\/[^/]+\.ts$/,
  },
  {
    name: 'identity does not import domains, ledger, gateway or backends',
    from: /^identity\//,
    forbids: /^(banking|ledger|gateway|backends)\//,
    exceptTo: /^gateway\/pipeline\/ports\.ts$|\/contract\.ts$/,
  },
  {
    name: 'the ledger imports no domain',
    from: /^ledger\//,
    forbids: /^(banking|identity|gateway|backends)\//,
    exceptTo: /\/contract\.ts$/,
  },
  {
    name: 'database imports the kernel, platform imports the kernel and the database',
    from: /^(database|platform)\//,
    forbids: allBut('kernel', 'database', 'platform'),
    exceptTo: /\/contract\.ts$/,
  },
  {
    name: 'the gateway imports no domain and no identity',
    from: /^gateway\//,
    forbids: /^(banking|identity|ledger)\//,
    exceptTo: /\/contract\.ts$/,
  },
  {
    name: 'the client imports kernel and contract files only, and is safe in a browser',
    from: /^client\//,
    forbids: new RegExp(`^node:|${allBut('kernel', 'contract', 'client').source}`),
    exceptTo: contractFile,
  },
  {
    name: 'a server loads no client, testing kit, conformance or load generator',
    from: /./,
    exceptFrom: /^(client|testing|conformance|load|cli\/deployment)\//,
    forbids: /^(client|testing|conformance|load|cli\/deployment)\//,
    // Loaded by the commands `conformance` and `load`.
    exceptTo: /^cli\/deployment\/(conformance|load)\.ts$/,
  },
  {
    name: 'only stores, schemas and database see SQL',
    from: /./,
    // api/index.ts exports `sql` for extensions.
    exceptFrom: /(^|\/)(store|schema|[a-z-]+-store)\.ts$|\/schema\/|^database\/|^api\/index\.ts$/,
    forbids: /^(kysely|pg|@electric-sql\/pglite)(\/|$)/,
  },
]

export const textRules: TextRule[] = [
  {
    // With a named import, a bundler can include all of zod, with 350 KB for 50 unused languages.
    name: 'what a browser loads imports zod as a namespace',
    in: /^(kernel|contract|client)\/|(^|\/)contract\.ts$/,
    forbids: /^import \{ z \} from 'zod'/m,
  },
  {
    name: 'only the shared resolver looks up names',
    in: /./,
    except: /^platform\/runtime\/resolver\.ts$/,
    forbids: /from 'node:dns(\/promises)?'/,
  },
  { name: 'process.env is read in one file', in: /./, except: /^config\/env\.ts$/, forbids: /\bprocess\.env\b/ },
  {
    name: 'the clock is handed in',
    in: /./,
    except: /^platform\/runtime\//,
    forbids: /\bDate\.now\(|\bnew Date\(\)/,
  },
  {
    // Tests of upstreams and streams skip time, instead of waiting for it.
    name: 'durations of upstreams and streams are handed in',
    in: /^backends\/|^gateway\/(pipeline|sockets)\//,
    except: /^gateway\/pipeline\/(call|stages\/body)\.ts$/,
    forbids: /(?<!\.)\bset(Timeout|Interval)\(|\bperformance\.now\(/,
  },
  {
    name: 'randomness is handed in',
    in: /./,
    except: /^(platform\/(runtime|crypto)|client)\//,
    forbids: /\bMath\.random\b|\brandomUUID\b|\brandomBytes\b/,
  },
  {
    name: 'no enum, no any, no switched-off check',
    in: /./,
    forbids: /\benum [A-Z]|\bas any\b|: any\b|@ts-(ignore|expect-error|nocheck)/,
  },
  {
    name: 'a statement starts when it is awaited',
    in: /^identity\/|store\.ts$/,
    except: /^identity\/(index|passwords\/policy|codes\/service|sessions\/authenticate|ip-whitelist\/guard)\.ts$/,
    forbids: /\bPromise\.\w+\(|\.then\(/,
  },
  {
    // The bundler assumes that these calls have no effect, and removes them and their errors.
    name: 'nothing built in is called only for what it throws',
    in: /./,
    forbids:
      /\btry \{\n\s*(void )?((en|de)codeURI(Component)?|URL\.canParse|String(\.\w+)?|Number|BigInt|Math\.\w+|parse(Int|Float))\(.*\)$/m,
  },
]

export function isForeignDomain(from: string, to: string): boolean {
  const room = (path: string) => /^banking\/([^/]+)\//.exec(path)?.[1]
  const [a, b] = [room(from), room(to)]
  return a !== undefined && b !== undefined && a !== b
}

/** Compose also imports the schemas of identity and the ledger, to migrate the store. */
export function isSideEntrance(from: string, to: string): boolean {
  const ownerOf = (path: string) => /^(banking\/[^/]+|identity|ledger)\//.exec(path)?.[1]
  const target = ownerOf(to)
  if (target === undefined || ownerOf(from) === target || to === `${target}/index.ts`) return false
  if (
    from === 'compose/migrations.ts' &&
    !target.startsWith('banking/') &&
    /^\/schema(\/index)?\.ts$/.test(to.slice(target.length))
  )
    return false
  return !/\/contract\.ts$/.test(to)
}
