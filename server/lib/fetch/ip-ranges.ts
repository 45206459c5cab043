/** Ranges outside of the public internet, from the IANA special-purpose registries. */
export type Range = readonly [network: string, prefixBits: number, what: string]

export const blockedIpv4 = [
  ['0.0.0.0', 8, 'this network; Linux connects to loopback for it'],
  ['10.0.0.0', 8, 'private (RFC 1918)'],
  ['100.64.0.0', 10, "carrier-grade NAT, also Alibaba Cloud's metadata"],
  ['127.0.0.0', 8, 'loopback'],
  ['168.63.129.16', 32, "Azure's platform services: formally public, but local"],
  ['169.254.0.0', 16, "link-local, also most clouds' metadata"],
  ['172.16.0.0', 12, 'private (RFC 1918)'],
  ['192.0.0.0', 24, "IETF protocol assignments, also Oracle Cloud's metadata"],
  ['192.0.2.0', 24, 'documentation'],
  ['192.88.99.0', 24, '6to4 relays'],
  ['192.168.0.0', 16, 'private (RFC 1918)'],
  ['198.18.0.0', 15, 'benchmarking'],
  ['198.51.100.0', 24, 'documentation'],
  ['203.0.113.0', 24, 'documentation'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'reserved, and broadcast'],
] as const satisfies Range[]

/**
 * IPv6 has an allow-list, because most of it is unassigned. ::, ::1, IPv4-compatible, site-local, ULA, link-local and
 * multicast addresses are outside of this range, and so are future kinds of addresses.
 */
export const globalIpv6 = ['2000::', 3, 'global unicast'] as const satisfies Range

/** Parts of the global range that are not public. */
export const blockedIpv6 = [
  ['2001::', 23, 'IETF protocol assignments: Teredo, benchmarking, ORCHID'],
  ['2001:db8::', 32, 'documentation'],
  ['2002::', 16, '6to4: leads to any IPv4 address, and is obsolete'],
  ['3fff::', 20, 'documentation'],
] as const satisfies Range[]

/** The last 32 bits are the IPv4 address that is finally used, so that address decides. */
export const ipv4Prefixes = [
  ['::ffff:', 96, 'IPv4-mapped'],
  // A DNS64 resolver, as in networks with IPv6 only, returns these for every host with IPv4.
  ['64:ff9b::', 96, 'NAT64'],
] as const satisfies Range[]

/**
 * Ports of protocols other than HTTP, so that requests cannot reach mail servers and databases: the list of the Fetch
 * standard ("bad ports"), followed by services that the list lacks.
 */
export const blockedPorts: ReadonlySet<number> = new Set([
  ...[0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103],
  ...[
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
  ],
  ...[515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723],
  ...[2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080],

  445, // SMB
  873, // rsync
  1433, // SQL Server
  1521, // Oracle
  1883, // MQTT
  1935, // RTMP
  3306, // MySQL
  3389, // RDP
  5432, // Postgres
  5672, // AMQP
  5900, // VNC
  6379, // Redis
  9042, // Cassandra
  9092, // Kafka
  11211, // memcached
  27017, // MongoDB
])
