#pragma once
/* SHA256_Init and its kin, and those of MD5, are called old. They alone ask for no memory, and so cannot fail. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/md5.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <string.h>

/* Wherever the use of OpenSSL begins, before anything else of it: then it cleans nothing up at exit(3) (OPENSSL_init_crypto(3)).
   It would do so beside threads that just end, and free what they free: one command in a thousand was killed by that. */
static inline int sl_openssl_stays(void) { return OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }

/* HMAC-SHA-256 (RFC 2104) under one key, for many messages: what the key does to both hashes is done once.
   By the RFC's own line, because OpenSSL's HMAC asks for memory at every message, and without it leaves whatever was there. */
typedef struct {
  SHA256_CTX inner, outer;
} sl_keyed_hash;

static inline void sl_keyed_hash_begin(sl_keyed_hash *hash, const void *key, size_t length) {
  unsigned char block[SHA256_CBLOCK] = {0};
  SHA256_Init(&hash->inner);
  if (length > sizeof block) {
    SHA256_Update(&hash->inner, key, length);
    SHA256_Final(block, &hash->inner);
    SHA256_Init(&hash->inner);
  } else if (length > 0) {
    memcpy(block, key, length);
  }
  for (size_t index = 0; index < sizeof block; index++) block[index] ^= 0x36;
  SHA256_Update(&hash->inner, block, sizeof block);
  for (size_t index = 0; index < sizeof block; index++) block[index] ^= 0x36 ^ 0x5c;
  SHA256_Init(&hash->outer);
  SHA256_Update(&hash->outer, block, sizeof block);
  OPENSSL_cleanse(block, sizeof block);
}

/* Of a message in two parts. The 32 bytes of output may be where the message lies. */
static inline void sl_keyed_hash_code(const sl_keyed_hash *hash, const void *start, size_t startLength, const void *rest,
                                      size_t restLength, unsigned char *output) {
  SHA256_CTX state = hash->inner;
  SHA256_Update(&state, start, startLength);
  SHA256_Update(&state, rest, restLength);
  SHA256_Final(output, &state);
  state = hash->outer;
  SHA256_Update(&state, output, SHA256_DIGEST_LENGTH);
  SHA256_Final(output, &state);
}
