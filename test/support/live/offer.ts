/** An offer as that of OBS: H.264 and Opus. `lines` are added to the video. */
export function sampleOffer(lines: string[] = []): string {
  const fingerprint = Array.from({ length: 32 }, () => 'AB').join(':')
  const transport = [
    'c=IN IP4 0.0.0.0',
    'a=sendonly',
    'a=rtcp-mux',
    'a=ice-ufrag:abcd',
    'a=ice-pwd:abcdefghijklmnopqrstuv',
    `a=fingerprint:sha-256 ${fingerprint}`,
    'a=setup:actpass',
  ]
  const audio = ['m=audio 9 UDP/TLS/RTP/SAVPF 111', ...transport, 'a=mid:0', 'a=rtpmap:111 opus/48000/2']
  const video = [
    'm=video 9 UDP/TLS/RTP/SAVPF 96',
    ...transport,
    'a=mid:1',
    'a=rtpmap:96 H264/90000',
    'a=fmtp:96 profile-level-id=42e01f;packetization-mode=1;level-asymmetry-allowed=1',
    'a=rtcp-fb:96 nack',
    'a=rtcp-fb:96 nack pli',
    ...lines,
  ]
  const session = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 't=0 0', 'a=group:BUNDLE 0 1']
  return `${[...session, ...audio, ...video].join('\r\n')}\r\n`
}
